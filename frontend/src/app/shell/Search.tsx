/** ⌘K: one search over clusters, topics, groups, people, operations and message ids. Asks no broker. */
import { Modal, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure, useHotkeys } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import type { Answer } from "@/shared/api/client";
import { useGet } from "@/shared/api/queries";
import { useTexts } from "../texts";
import { linkOf } from "./hit_links";
import classes from "./Shell.module.css";

type Hit = Answer<"/search/">["results"][number];
const TYPING_MS = 150;
const KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

export function SearchButton() {
  const t = useTexts();
  const [isOpen, dialog] = useDisclosure(false);
  useHotkeys([["mod+K", dialog.open]], []);
  return (
    <>
      <button type="button" className={`${classes.searchButton} ${classes.wide}`} onClick={dialog.open}>
        <IconSearch size={15} aria-hidden />
        <span>{t("search.open")}</span>
        <kbd aria-hidden>{KEYS}</kbd>
      </button>
      <Modal
        opened={isOpen}
        onClose={dialog.close}
        title={t("search.title")}
        size="lg"
        yOffset="10vh"
        centered={false}
      >
        <Finder onDone={dialog.close} />
      </Modal>
    </>
  );
}

function Finder({ onDone }: { onDone: () => void }) {
  const t = useTexts();
  const navigate = useNavigate();
  const listId = useId();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [asked] = useDebouncedValue(text.trim(), TYPING_MS);
  const found = useGet(
    "/search/",
    { query: { q: asked, limit: 8 } },
    { enabled: asked !== "", keepPrevious: asked !== "" },
  );
  const hits = asked === "" ? [] : (found.data?.results ?? []);

  function open(hit: Hit | undefined) {
    if (hit === undefined) return;
    onDone();
    void navigate(linkOf(hit));
  }
  function press(event: React.KeyboardEvent) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && hits.length > 0) {
      event.preventDefault();
      setChosen((chosen + step + hits.length) % hits.length);
    }
    if (event.key === "Enter") open(hits[chosen]);
  }

  return (
    <div onKeyDown={press}>
      <TextInput
        size="sm"
        data-autofocus
        role="combobox"
        aria-label={t("search.title")}
        aria-expanded={hits.length > 0}
        aria-controls={listId}
        aria-activedescendant={hits.length > 0 ? `${listId}-${chosen}` : undefined}
        placeholder={t("search.placeholder")}
        leftSection={<IconSearch size={15} />}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
      />
      <div className={classes.results} role="listbox" id={listId} aria-label={t("search.results")}>
        <Hits hits={hits} chosen={chosen} listId={listId} onOpen={open} onChoose={setChosen} />
      </div>
      <div className={classes.fine}>
        {asked === "" && t("search.hint")}
        {asked !== "" && found.isSuccess && hits.length === 0 && t("search.nothing", { text: asked })}
        {hits.length > 0 && t((found.data?.more.length ?? 0) > 0 ? "search.more" : "search.keys")}
      </div>
    </div>
  );
}

interface HitsProps {
  hits: readonly Hit[];
  chosen: number;
  listId: string;
  onOpen: (hit: Hit) => void;
  onChoose: (at: number) => void;
}

function Hits({ hits, chosen, listId, onOpen, onChoose }: HitsProps) {
  const t = useTexts();
  return hits.map((hit, at) => (
    <div key={`${hit.kind}/${hit.cluster}/${hit.name}`} role="presentation">
      {hits[at - 1]?.kind !== hit.kind && (
        <div className={classes.kind} role="presentation">
          {t(`search.kind.${hit.kind}`)}
        </div>
      )}
      <div
        id={`${listId}-${at}`}
        role="option"
        aria-selected={at === chosen}
        className={classes.hit}
        onClick={() => onOpen(hit)}
        onMouseMove={() => onChoose(at)}
      >
        <span>{hit.name}</span>
        {hit.kind !== "cluster" && <span className={classes.where}>{hit.cluster ?? hit.detail}</span>}
      </div>
    </div>
  ));
}
