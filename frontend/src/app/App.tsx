/** Providers around the routes. */
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { makeQueryClient } from "@/shared/api/queries";
import { theme, variables } from "@/shared/theme/theme";
import { Notices } from "@/shared/ui/notices";
import { makeRouter } from "./router";

const client = makeQueryClient();
const router = makeRouter(client);

export function App() {
  return (
    <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
        <Notices />
      </QueryClientProvider>
    </MantineProvider>
  );
}
