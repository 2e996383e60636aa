/**
 * The live routing map, drawn by React Flow. Loaded only when somebody looks at it.
 * Figures change inside of nodes that stay where they are; lines are as thick as what runs along them.
 */
import { ActionIcon, Tooltip } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { IconArrowsMaximize, IconMinus, IconPlus } from "@tabler/icons-react";
import {
  type Edge,
  type Node,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useCallback, useEffect, useMemo } from "react";
import { useTexts } from "../texts";
import { joinedTo } from "./edges";
import type { MapGraph } from "./graph";
import { COLUMNS, layOut, strokeOf, WIDTHS } from "./layout";
import { nodeTypes } from "./nodes";
import classes from "./RoutingMap.module.css";

interface Props {
  graph: MapGraph;
  chosen: string;
  onChoose: (id: string) => void;
}

const LEAST_ZOOM = 0.3;
/** Below it names cannot be read: a narrow window shows a part, and is moved. */
const READABLE = 0.68;

export default function RoutingMap(props: Props) {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

function Drawing({ graph, chosen, onChoose }: Props) {
  const t = useTexts();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const { placed, heads, height } = useMemo(() => layOut(graph), [graph]);
  const joined = useMemo(() => (chosen === "" ? null : joinedTo(chosen, graph.edges)), [chosen, graph.edges]);
  const nodes = useMemo(
    () => nodesOf(placed, heads, joined, chosen, onChoose),
    [placed, heads, joined, chosen, onChoose],
  );
  const edges = useMemo(() => edgesOf(graph, joined), [graph, joined]);
  const whole = COLUMNS.reduce((sum, column) => sum + WIDTHS[column], 0) + 104 * (COLUMNS.length - 1);
  return (
    <div
      ref={ref}
      className={classes.map}
      role="region"
      aria-label={t("map.label")}
      aria-description={t("map.keys")}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        panOnScroll
        attributionPosition="top-right"
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        minZoom={LEAST_ZOOM}
        maxZoom={1.6}
        translateExtent={[
          [-80, -40],
          [whole + 80, Math.max(height, 300) + 60],
        ]}
        onPaneClick={() => onChoose("")}
        onlyRenderVisibleElements={nodes.length > 150}
      >
        <Place width={width} whole={whole} height={height} />
      </ReactFlow>
    </div>
  );
}

/** As large as it can be read, from the top; and the buttons that lead back there. */
function Place({ width, whole, height }: { width: number; whole: number; height: number }) {
  const t = useTexts();
  const { setViewport, zoomIn, zoomOut, fitView } = useReactFlow();
  const home = useCallback(() => {
    if (width === 0) return;
    const zoom = Math.min(1, Math.max(READABLE, (width - 32) / whole));
    const x = Math.max(16, (width - whole * zoom) / 2);
    void setViewport({ x, y: 8, zoom });
  }, [setViewport, width, whole]);
  useEffect(() => {
    home();
    // Where it stands is somebody's own once it stands: other figures do not move it.
  }, [home]);
  return (
    <Panel position="bottom-right" className={classes.buttons}>
      <MapButton label={t("map.zoomIn")} onClick={() => void zoomIn()}>
        <IconPlus size={15} />
      </MapButton>
      <MapButton label={t("map.zoomOut")} onClick={() => void zoomOut()}>
        <IconMinus size={15} />
      </MapButton>
      <MapButton
        label={t("map.fit")}
        onClick={() => void (height > 0 ? fitView({ padding: 0.04, maxZoom: 1 }) : home())}
      >
        <IconArrowsMaximize size={15} />
      </MapButton>
    </Panel>
  );
}

function MapButton({
  label,
  onClick,
  children,
}: {
  label: string;
  onClick: () => void;
  children: React.ReactNode;
}) {
  return (
    <Tooltip label={label} position="left">
      <ActionIcon variant="default" aria-label={label} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

type Laid = ReturnType<typeof layOut>;

function nodesOf(
  placed: Laid["placed"],
  heads: Laid["heads"],
  joined: ReadonlySet<string> | null,
  chosen: string,
  onChoose: (id: string) => void,
): Node[] {
  const columns = heads.map(({ column, x, width }): Node => ({
    id: `head:${column}`,
    type: "sb-head",
    position: { x, y: 0 },
    ...sized(width, 24),
    data: { column },
  }));
  const drawn = placed.map(({ node, x, y, width, height }): Node => ({
    id: node.id,
    type: `sb-${node.kind}`,
    position: { x, y },
    ...sized(width, height),
    data: { node, isChosen: node.id === chosen, isDim: joined !== null && !joined.has(node.id), onChoose },
  }));
  return [...columns, ...drawn];
}

/** Sizes and ends of lines are said, not measured: figures that change must not make lines flicker. */
function sized(width: number, height: number) {
  const end = { y: height / 2, width: 1, height: 1 };
  return {
    width,
    height,
    measured: { width, height },
    handles: [
      { ...end, type: "target", position: Position.Left, x: 0 } as const,
      { ...end, type: "source", position: Position.Right, x: width - 1 } as const,
    ],
  };
}

function edgesOf(graph: MapGraph, joined: ReadonlySet<string> | null): Edge[] {
  return graph.edges.map(({ id, from, to, rate, isLagging }) => {
    const isDim = joined !== null && !(joined.has(from) && joined.has(to));
    return {
      id,
      source: from,
      target: to,
      ariaLabel: "",
      domAttributes: { "aria-hidden": true },
      className: `${classes.edge} ${isLagging ? classes.lagging : ""} ${isDim ? classes.dim : ""} ${(rate ?? 0) > 0 ? classes.busy : ""}`,
      style: { strokeWidth: strokeOf(rate) },
    };
  });
}
