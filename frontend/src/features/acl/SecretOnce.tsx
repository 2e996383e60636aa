/** A secret that is shown once. */
import { Alert, Text } from "@mantine/core";
import { CodeBlock } from "@/shared/ui/CodeBlock";
import { TONED } from "@/shared/ui/plan_views";
import { useTexts } from "./texts";

export function SecretOnce({ name, secret }: { name: string; secret: string }) {
  const t = useTexts();
  return (
    <Alert className="sb-warn" styles={TONED} title={t("secret.title", { name })}>
      <Text size="sm" mb="xs">
        {t("secret.once")}
      </Text>
      <CodeBlock code={secret} label={t("secret.label")} wrap />
    </Alert>
  );
}
