/** What stands in the map: a button each, so that keys and readers reach all of it. */
import { Handle, type NodeProps, Position, useReactFlow } from "@xyflow/react";
import { IconArrowNarrowRight } from "@tabler/icons-react";
import { memo, type ReactNode } from "react";
import { Count, Rate, Ratio } from "@/shared/ui/Figure";
import { PlainText } from "@/shared/ui/TextBody";
import { Unknown } from "@/shared/ui/Unknown";
import { formatDuration } from "@/shared/format/durations";
import { useLocale } from "@/shared/texts/i18n";
import { labelOf } from "../health";
import type { LiveRow } from "../cluster_data";
import { useTexts } from "../texts";
import type { BrokerNode, Column, GroupNode, MapNode, MoreNode, ProducerNode, TopicNode } from "./graph";
import classes from "./RoutingMap.module.css";

interface Data<N extends MapNode> {
  node: N;
  isChosen: boolean;
  isDim: boolean;
  onChoose: (id: string) => void;
}

interface FrameProps {
  data: Data<MapNode>;
  label: string;
  tone?: string;
  children: ReactNode;
}

/** Nodes far outside come into view when keys lead to them. */
function Frame({ data, label, tone = "", children }: FrameProps) {
  const { node, isChosen, isDim, onChoose } = data;
  const flow = useReactFlow();
  function reveal(event: React.FocusEvent<HTMLElement>) {
    if (!event.currentTarget.matches(":focus-visible")) return;
    const place = flow.getNode(node.id);
    if (place)
      void flow.setCenter(place.position.x + 100, place.position.y, { zoom: flow.getZoom(), duration: 150 });
  }
  return (
    <>
      <Handle type="target" position={Position.Left} className={classes.handle} isConnectable={false} />
      <button
        type="button"
        className={`${classes.node} ${tone} ${isChosen ? classes.chosen : ""} ${isDim ? classes.dim : ""}`}
        aria-pressed={isChosen}
        data-node={node.id}
        onClick={() => onChoose(isChosen ? "" : node.id)}
        onKeyDown={(event) => event.key === "Escape" && onChoose("")}
        onFocus={reveal}
      >
        <span className="sb-visually-hidden">{label}</span>
        {children}
      </button>
      <Handle type="source" position={Position.Right} className={classes.handle} isConnectable={false} />
    </>
  );
}

function Name({ text }: { text: string }) {
  return (
    <span className={classes.name} title={text}>
      <PlainText text={text} />
    </span>
  );
}

const Producer = memo(({ data }: NodeProps) => {
  const t = useTexts();
  const { node } = data as unknown as Data<ProducerNode>;
  return (
    <Frame data={data as unknown as Data<MapNode>} label={t("map.column.producers")}>
      <Name text={node.name} />
      <span className={classes.line}>
        <span>{t("map.members", { count: node.clients })}</span>
        <span className={classes.right}>{node.languages.join(", ")}</span>
      </span>
    </Frame>
  );
});

const Broker = memo(({ data }: NodeProps) => {
  const t = useTexts();
  const { node } = data as unknown as Data<BrokerNode>;
  const { master } = node;
  const isDown = master !== undefined && !master.is_reachable;
  return (
    <Frame
      data={data as unknown as Data<MapNode>}
      label={t("map.column.brokers")}
      tone={isDown ? classes.down : ""}
    >
      <span className={classes.line}>
        <Name text={node.name} />
        <span className={classes.rates}>
          <Known row={master}>{(row) => <Rate value={row.rates.put} />}</Known>
          <IconArrowNarrowRight size={13} aria-hidden />
          <Known row={master}>{(row) => <Rate value={row.rates.got} />}</Known>
        </span>
      </span>
      {node.members.length === 0 && <span className={classes.member}>{t("map.unknownRole")}</span>}
      {node.members.map((row) => (
        <Member key={labelOf(row)} row={row} master={master} />
      ))}
    </Frame>
  );
});

function Known({ row, children }: { row: LiveRow | undefined; children: (row: LiveRow) => ReactNode }) {
  return row?.is_reachable ? children(row) : <Unknown />;
}

function Member({ row, master }: { row: LiveRow; master: LiveRow | undefined }) {
  const t = useTexts();
  const role = row.role === "master" || row.role === "slave" ? t(`map.${row.role}`) : t("map.unknownRole");
  const inSync = master?.is_reachable ? master.ha.inSync : undefined;
  const isInSync = inSync?.includes(row.ha.memberId ?? row.member);
  const tone = !row.is_reachable ? "sb-bad" : isInSync === false || row.ha.trouble ? "sb-warn" : "sb-ok";
  const isRefusing =
    row.role === "master" && row.ha.permission !== undefined && (row.ha.permission & 2) === 0;
  const state = !row.is_reachable
    ? t("map.noAnswer")
    : isRefusing
      ? t("map.refused")
      : isInSync === undefined
        ? ""
        : t(isInSync ? "map.inSync" : "map.outOfSync");
  return (
    <span
      className={`${classes.member} ${tone}`}
      data-member={labelOf(row)}
      data-reachable={row.is_reachable}
    >
      <i className={classes.dot} />
      <span>
        {labelOf(row).slice(row.broker_name.length + 1)} {role}
      </span>
      <span className={classes.toned}>{state}</span>
      <span className={classes.right}>{row.is_reachable && <Ratio value={row.disk_ratio} />}</span>
    </span>
  );
}

const Topic = memo(({ data }: NodeProps) => {
  const t = useTexts();
  const { node } = data as unknown as Data<TopicNode>;
  return (
    <Frame data={data as unknown as Data<MapNode>} label={t("map.column.topics")}>
      <Name text={node.name} />
      <span className={classes.line}>
        <Rate value={node.topic.put_rate} />
        <span>{t("map.queues", { count: node.queues })}</span>
        {node.moreGroups > 0 && <span>{`+${node.moreGroups}`}</span>}
        <span className={classes.right}>
          <Lag value={node.lag} isBad={false} />
        </span>
      </span>
    </Frame>
  );
});

const Group = memo(({ data }: NodeProps) => {
  const t = useTexts();
  const locale = useLocale();
  const { node } = data as unknown as Data<GroupNode>;
  const note = node.neverClears
    ? t("map.never")
    : node.etaS !== null && node.etaS >= 1
      ? t("map.clears", { age: formatDuration(node.etaS, locale) })
      : "";
  return (
    <Frame
      data={data as unknown as Data<MapNode>}
      label={t("map.column.groups")}
      tone={node.neverClears ? classes.behind : ""}
    >
      <Name text={node.name} />
      <span className={classes.line}>
        <Rate value={node.rate} />
        <span className={classes.note}>{note}</span>
        <span className={classes.right}>
          <Lag value={node.lag} isBad={node.neverClears} />
        </span>
      </span>
    </Frame>
  );
});

function Lag({ value, isBad }: { value: string | null; isBad: boolean }) {
  const isSome = value !== null && value !== "0";
  return (
    <span className={isBad ? classes.bad : isSome ? classes.some : ""}>
      <Count value={value} short />
    </span>
  );
}

const More = memo(({ data }: NodeProps) => {
  const t = useTexts();
  const { node } = data as unknown as Data<MoreNode>;
  const text =
    node.column === "producers"
      ? t("map.moreProducers", { count: node.count })
      : t("map.moreGroups", { count: node.count });
  return <div className={classes.more}>{text}</div>;
});

const Head = memo(({ data }: NodeProps) => {
  const t = useTexts();
  return <div className={classes.head}>{t(`map.column.${(data as { column: Column }).column}`)}</div>;
});

for (const [name, part] of Object.entries({ Producer, Broker, Topic, Group, More, Head }))
  part.displayName = name;

export const nodeTypes = {
  "sb-producer": Producer,
  "sb-broker": Broker,
  "sb-topic": Topic,
  "sb-group": Group,
  "sb-more": More,
  "sb-head": Head,
};
