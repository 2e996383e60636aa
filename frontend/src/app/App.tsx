/** Providers around the routes. */
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useMemo } from "react";
import { makeQueryClient, read } from "@/shared/api/queries";
import { useShared } from "@/shared/texts/shared";
import { themeWith, variables } from "@/shared/theme/theme";
import { Notices } from "@/shared/ui/notices";
import { makeRouter } from "./router";

const client = makeQueryClient();
const router = makeRouter(client);
// Under way before anything is drawn: who is signed in, and the code of the screen that was asked for.
void client.prefetchQuery(read("/session/"));
for (const { routeId } of router.matchRoutes(router.latestLocation)) {
  void router.loadRouteChunk(router.routesById[routeId as keyof typeof router.routesById]);
}

export function App() {
  const t = useShared();
  const theme = useMemo(() => themeWith({ close: t("action.close") }), [t]);
  return (
    <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <Notices />
      </QueryClientProvider>
    </MantineProvider>
  );
}
