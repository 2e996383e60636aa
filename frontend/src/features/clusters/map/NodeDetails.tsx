/** More about the node that is chosen, beside the map; and the way to its own page. */
import { CloseButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Count, Rate, Ratio } from "@/shared/ui/Figure";
import { Lag } from "@/shared/ui/Lag";
import { PlainText } from "@/shared/ui/TextBody";
import { StateBadge } from "@/shared/ui/StateBadge";
import { labelOf } from "../health";
import { useTexts } from "../texts";
import type { BrokerNode, GroupNode, MapNode, ProducerNode, TopicNode } from "./graph";
import classes from "./MapPanel.module.css";

interface Props {
  cluster: string;
  node: MapNode;
  onClose: () => void;
}

export function NodeDetails({ cluster, node, onClose }: Props) {
  const t = useTexts();
  if (node.kind === "more") return null;
  return (
    <aside className={classes.details} aria-label={t("map.details")}>
      <div className={classes.title}>
        <span>
          <PlainText text={node.name} />
        </span>
        <CloseButton size="sm" aria-label={t("map.close")} onClick={onClose} />
      </div>
      {node.kind === "topic" && <AboutTopic cluster={cluster} node={node} />}
      {node.kind === "group" && <AboutGroup cluster={cluster} node={node} />}
      {node.kind === "broker" && <AboutBroker cluster={cluster} node={node} />}
      {node.kind === "producer" && <AboutProducer node={node} />}
    </aside>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <div className={classes.heading}>{title}</div>
      <ul className={classes.list}>{children}</ul>
    </>
  );
}

function Traffic({ rate, lag }: Pick<GroupNode, "rate" | "lag">) {
  const t = useTexts();
  return (
    <ul className={classes.list}>
      <li>
        <span>{t("map.rate")}</span>
        <Rate value={rate} />
      </li>
      <li>
        <span>{t("map.lag")}</span>
        <Count value={lag} />
      </li>
    </ul>
  );
}

function AboutTopic({ cluster, node }: { cluster: string; node: TopicNode }) {
  const t = useTexts();
  const { topic } = node;
  return (
    <>
      <Traffic rate={topic.put_rate} lag={node.lag} />
      <Part title={t("map.perBroker")}>
        {topic.brokers.map((part) => (
          <li key={part.broker}>
            <span>{part.broker}</span>
            <span>
              {t("map.queues", { count: part.write_queues })} {(part.perm & 2) === 0 && t("map.readOnly")}
            </span>
          </li>
        ))}
      </Part>
      <Part title={t("map.readBy")}>
        {topic.groups.map((reader) => (
          <li key={reader.group}>
            <Link to="/clusters/$cluster/groups/$group" params={{ cluster, group: reader.group }}>
              <PlainText text={reader.group} />
            </Link>
            <Lag of={reader} />
          </li>
        ))}
        {topic.hidden_groups > 0 && <li>{t("map.hidden", { count: topic.hidden_groups })}</li>}
        {topic.groups.length + topic.hidden_groups === 0 && <li>{t("table.none")}</li>}
      </Part>
      <Link to="/clusters/$cluster/topics/$topic" params={{ cluster, topic: node.name }}>
        {t("map.open")}
      </Link>
    </>
  );
}

function AboutGroup({ cluster, node }: { cluster: string; node: GroupNode }) {
  const t = useTexts();
  return (
    <>
      <Traffic rate={node.rate} lag={node.lag} />
      <Part title={t("map.reads")}>
        {node.topics.map((topic) => (
          <li key={topic}>
            <Link to="/clusters/$cluster/topics/$topic" params={{ cluster, topic }}>
              <PlainText text={topic} />
            </Link>
          </li>
        ))}
      </Part>
      <Link to="/clusters/$cluster/groups/$group" params={{ cluster, group: node.name }}>
        {t("map.open")}
      </Link>
    </>
  );
}

function AboutBroker({ cluster, node }: { cluster: string; node: BrokerNode }) {
  const t = useTexts();
  return (
    <Part title={t("map.column.brokers")}>
      {node.members.map((row) => (
        <li key={labelOf(row)}>
          <span>
            <Link to="/clusters/$cluster/brokers/$broker" params={{ cluster, broker: labelOf(row) }}>
              {labelOf(row)}
            </Link>
            <div className="sb-mono">{row.address}</div>
            {row.ha.trouble && <div>{row.ha.trouble}</div>}
            {!row.is_reachable && <div>{row.error}</div>}
          </span>
          <span>
            <StateBadge
              tone={row.is_reachable ? "ok" : "bad"}
              label={
                row.is_reachable
                  ? row.role === "master"
                    ? t("map.master")
                    : t("map.slave")
                  : t("map.noAnswer")
              }
            />
            <div>
              <Ratio value={row.is_reachable ? row.disk_ratio : null} />
            </div>
          </span>
        </li>
      ))}
    </Part>
  );
}

function AboutProducer({ node }: { node: ProducerNode }) {
  const t = useTexts();
  return (
    <ul className={classes.list}>
      <li>
        <span>{t("map.clients")}</span>
        <Count value={node.clients} />
      </li>
      <li>
        <span>{t("map.language")}</span>
        <span>{node.languages.join(", ")}</span>
      </li>
      <li>
        <span>{t("map.connectedTo")}</span>
        <span>{node.brokers.join(", ")}</span>
      </li>
      {node.topics.length > 0 && (
        <li>
          <span>{t("map.sendsTo")}</span>
          <PlainText text={node.topics.join(", ")} />
        </li>
      )}
    </ul>
  );
}
