/** Properties of a message: the application's own first, then RocketMQ's. Names and values are text. */
import { Stack, Text } from "@mantine/core";
import { cut } from "@/shared/format/plain_text";
import { PlainText } from "@/shared/ui/TextBody";
import classes from "./message.module.css";
import { isSystemProperty } from "./content";
import { useTexts } from "./texts";

const SHOWN = 4096;

export function Properties({ properties }: { properties: Record<string, string> }) {
  const t = useTexts();
  const names = Object.keys(properties).sort();
  if (names.length === 0) return <Text c="dimmed">{t("properties.none")}</Text>;
  const own = names.filter((name) => !isSystemProperty(name));
  const system = names.filter(isSystemProperty);
  return (
    <Stack gap="lg">
      {own.length > 0 && <Part title={t("properties.own")} names={own} properties={properties} />}
      {system.length > 0 && <Part title={t("properties.system")} names={system} properties={properties} />}
    </Stack>
  );
}

function Part({
  title,
  names,
  properties,
}: {
  title: string;
  names: string[];
  properties: Record<string, string>;
}) {
  return (
    <div>
      <Text size="xs" c="dimmed" fw={600} mb={2}>
        {title}
      </Text>
      <table className={classes.properties} aria-label={title}>
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">
                <PlainText text={cut(name, SHOWN)} />
              </th>
              <td className="sb-mono">
                <PlainText text={cut(properties[name] ?? "", SHOWN)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
