/** Words for whose a thing is. */
import { textsOf } from "@/shared/texts/i18n";

export const useAboutTexts = textsOf(
  "about",
  {
    title: "Whose it is",
    owner: "Owner",
    team: "Team",
    description: "Description",
    labels: "Labels",
    labelsHint: "name=value, separated by commas",
    labelsWrong: "write them as name=value",
    document: "Declared by",
    nobody: "Nobody has said whose it is.",
    saved: "Saved",
  },
  {
    title: "归属",
    owner: "负责人",
    team: "团队",
    description: "说明",
    labels: "标签",
    labelsHint: "name=value，以逗号分隔",
    labelsWrong: "请写成 name=value",
    document: "声明文档",
    nobody: "还没有人登记它的归属。",
    saved: "已保存",
  },
);
