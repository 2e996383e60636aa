/** A page that is being loaded, failed, or is not there. */
import { Anchor, Box, Center, Loader } from "@mantine/core";
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { IconSignRight } from "@tabler/icons-react";
import { EmptyState } from "@/shared/ui/EmptyState";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { useTexts } from "./texts";

export function PageLoading() {
  const t = useTexts();
  return (
    <Center py={80} role="status" aria-label={t("loading")}>
      <Loader size="sm" type="dots" />
    </Center>
  );
}

export function PageFailed({ error }: ErrorComponentProps) {
  return (
    <Box p="md" maw={640} mx="auto">
      <ProblemAlert error={error} onRetry={() => window.location.reload()} />
    </Box>
  );
}

export function PageMissing() {
  const t = useTexts();
  return (
    <EmptyState
      icon={<IconSignRight size={32} />}
      title={t("missing.title")}
      action={
        <Anchor mt="xs" renderRoot={(props) => <Link to="/" {...props} />}>
          {t("missing.home")}
        </Anchor>
      }
    >
      {t("missing.detail")}
    </EmptyState>
  );
}
