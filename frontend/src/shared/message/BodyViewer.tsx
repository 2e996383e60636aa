/** A body as JSON, text, hexadecimal or an image; never as anything that runs. What is cut can be downloaded. */
import { Alert, Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { IconDownload, IconEyeOff } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { formatBytes } from "@/shared/format/bytes";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { JsonView } from "@/shared/ui/JsonView";
import { TONED } from "@/shared/ui/plan_views";
import { ProblemAlert } from "@/shared/ui/ProblemAlert";
import { TextBody } from "@/shared/ui/TextBody";
import { type Body, bytesOf, hexLines, imageType, looseText, type View, viewsOf } from "./body";
import classes from "./message.module.css";
import { useTexts } from "./texts";

interface Props {
  body: Body;
  /** Where all of it can be had. */
  href: string;
  fileName: string;
  /** For those who may: a button that asks for a reason. */
  reveal?: ReactNode;
  isMasked: boolean;
}

export function BodyViewer({ body, href, fileName, reveal, isMasked }: Props) {
  const t = useTexts();
  const locale = useLocale();
  const views = useMemo(() => viewsOf(body), [body]);
  const [chosen, choose] = useState<View | null>(null);
  const view = chosen !== null && views.includes(chosen) ? chosen : views[0];
  if (body.kind === "masked") return <Masked reveal={reveal} />;
  if (body.kind === "damaged" || view === undefined) {
    return (
      <Alert className="sb-warn" styles={TONED} title={t("body.damaged")}>
        {body.detail}
      </Alert>
    );
  }
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          aria-label={t("body.view")}
          value={view}
          onChange={(value) => choose(value as View)}
          data={views.map((one) => ({ value: one, label: t(`body.${one}`) }))}
        />
        <Group gap="xs">
          {reveal}
          <Text size="xs" c="dimmed">
            {t("body.size", { size: formatBytes(body.size ?? 0, locale) })}
          </Text>
          {!isMasked && (
            <Button
              variant="default"
              component="a"
              href={href}
              download={fileName}
              leftSection={<IconDownload size={14} />}
            >
              {t("body.download")}
            </Button>
          )}
        </Group>
      </Group>
      {isMasked && (
        <Text size="xs" c="dimmed">
          {t("body.partlyMasked")}
        </Text>
      )}
      <Shown view={view} body={body} href={href} fileName={fileName} />
    </Stack>
  );
}

function Shown({ view, body, href, fileName }: { view: View } & Pick<Props, "body" | "href" | "fileName">) {
  const t = useTexts();
  const text = useMemo(() => body.text ?? looseText(bytesOf(body)), [body]);
  const label = t("body.label");
  const whole = body.is_cut ? (body.size ?? undefined) : undefined;
  if (view === "image") return <ImageView body={body} href={href} />;
  if (view === "hex") return <HexView body={body} href={href} />;
  if (view === "json" && !body.is_cut) return <JsonView value={text} label={label} />;
  return (
    <>
      {body.text === null && (
        <Text size="xs" c="dimmed">
          {t("body.noText")}
        </Text>
      )}
      <TextBody text={text} label={label} href={href} fileName={fileName} wholeBytes={whole} />
    </>
  );
}

const HEX_BYTES = 16 * 1024;

function HexView({ body, href }: { body: Body; href: string }) {
  const t = useTexts();
  const shared = useShared();
  const locale = useLocale();
  const bytes = useMemo(() => bytesOf(body), [body]);
  const lines = useMemo(() => hexLines(bytes.subarray(0, HEX_BYTES)), [bytes]);
  const isCut = body.is_cut || bytes.length > HEX_BYTES;
  const sizes = {
    shown: formatBytes(Math.min(bytes.length, HEX_BYTES), locale),
    whole: formatBytes(body.size ?? bytes.length, locale),
  };
  return (
    <div className={classes.frame}>
      <pre className={classes.hex} tabIndex={0} role="region" aria-label={t("body.hexLabel")}>
        {lines.join("\n")}
      </pre>
      {isCut && (
        <Text size="xs" c="dimmed" px="sm" py={6}>
          {shared("body.truncated", sizes)} <a href={href}>{shared("body.download")}</a>
        </Text>
      )}
    </div>
  );
}

const DRAWN_BYTES = 8 * 1024 * 1024;

/** Of what the list has only the beginning of, the rest is fetched: half an image is none. */
function ImageView({ body, href }: { body: Body; href: string }) {
  const t = useTexts();
  const locale = useLocale();
  const isTooLarge = (body.size ?? 0) > DRAWN_BYTES;
  const all = useQuery({
    queryKey: ["body", href],
    queryFn: async ({ signal }) => {
      const response = await fetch(href, { signal, credentials: "same-origin" });
      if (!response.ok) throw new Error(response.statusText);
      return new Uint8Array(await response.arrayBuffer());
    },
    enabled: body.is_cut && !isTooLarge,
    staleTime: Infinity,
  });
  const bytes = useMemo(() => (body.is_cut ? all.data : bytesOf(body)), [body, all.data]);
  const [address, setAddress] = useState<string | null>(null);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    if (bytes === undefined) return;
    const made = URL.createObjectURL(
      new Blob([bytes], { type: imageType(bytes) ?? "application/octet-stream" }),
    );
    // An address of the browser's own making: it is known only now, and must be given back.
    // eslint-disable-next-line react-hooks/set-state-in-effect
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  if (isTooLarge)
    return <Text size="sm">{t("body.imageLarge", { size: formatBytes(body.size ?? 0, locale) })}</Text>;
  if (all.isError) return <ProblemAlert error={all.error} onRetry={() => void all.refetch()} />;
  if (isBroken) return <Text size="sm">{t("body.imageFailed")}</Text>;
  if (address === null) return null;
  return (
    <div className={classes.frame}>
      <img className={classes.image} src={address} alt={t("body.imageAlt")} onError={() => setBroken(true)} />
    </div>
  );
}

function Masked({ reveal }: { reveal?: ReactNode }) {
  const t = useTexts();
  return (
    <div className={classes.masked}>
      <div className={classes.maskedInner}>
        <Group justify="space-between" gap="sm">
          <div>
            <Text fw={600}>
              <IconEyeOff size={15} aria-hidden style={{ verticalAlign: "-2px" }} /> {t("body.maskedTitle")}
            </Text>
            <Text size="sm" c="dimmed">
              {t("body.maskedDetail")}
            </Text>
          </div>
          {reveal}
        </Group>
      </div>
    </div>
  );
}
