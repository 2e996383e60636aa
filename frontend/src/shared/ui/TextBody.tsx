/**
 * Bodies, keys and names of strangers: text and nothing else. What cannot be seen is shown as what it is; after
 * 64 kB the rest is for downloading.
 */
import { Anchor } from "@mantine/core";
import { useMemo } from "react";
import { formatBytes } from "@/shared/format/bytes";
import { cut, piecesOf } from "@/shared/format/plain_text";
import { useLocale } from "@/shared/texts/i18n";
import { useShared } from "@/shared/texts/shared";
import { CopyButton } from "./CopyButton";
import { downloadText } from "./download";
import classes from "./TextBody.module.css";

export const SHOWN_CHARACTERS = 64 * 1024;

interface Props {
  text: string;
  label: string;
  /** Where all of it can be had, if this is only its beginning. */
  href?: string;
  /** Of all of it, if this is only its beginning. */
  wholeBytes?: number;
  fileName?: string;
}

export function TextBody({ text, label, href, wholeBytes, fileName = "body.txt" }: Props) {
  const t = useShared();
  const shown = useMemo(() => cut(text, SHOWN_CHARACTERS), [text]);
  const isCut = shown.length < text.length || (wholeBytes ?? 0) > new Blob([text]).size;
  if (text === "") return <span className="sb-unknown">{t("body.empty")}</span>;
  return (
    <div className={classes.frame}>
      <pre className={`${classes.text} ${classes.wrapped}`} tabIndex={0} role="region" aria-label={label}>
        <PlainText text={shown} />
      </pre>
      <div className={classes.corner}>
        <CopyButton value={text} name={label} />
      </div>
      {isCut && <Cut text={text} shown={shown} href={href} wholeBytes={wholeBytes} fileName={fileName} />}
    </div>
  );
}

/** One line of it, inside of other text: keys, tags, names. */
export function PlainText({ text }: { text: string }) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  return pieces.map((piece, number) =>
    piece.isControl ? (
      <span key={number} className={classes.control}>
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
}

interface CutProps extends Pick<Props, "href" | "wholeBytes"> {
  text: string;
  shown: string;
  fileName: string;
}

function Cut({ text, shown, href, wholeBytes, fileName }: CutProps) {
  const t = useShared();
  const locale = useLocale();
  const sizes = {
    shown: formatBytes(new Blob([shown]).size, locale),
    whole: formatBytes(wholeBytes ?? new Blob([text]).size, locale),
  };
  return (
    <div className={classes.cut}>
      <span>{t("body.truncated", sizes)}</span>
      {href ? (
        <Anchor size="xs" href={href} download={fileName}>
          {t("body.download")}
        </Anchor>
      ) : (
        <Anchor size="xs" component="button" onClick={() => downloadText(text, fileName)}>
          {t("body.download")}
        </Anchor>
      )}
    </div>
  );
}
