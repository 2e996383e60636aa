/** 登录与退出。 */
import type { Same } from "@/shared/texts/i18n";
import type { en } from "./en";

export const zh: Same<typeof en> = {
  title: "登录 Signalbox",
  lead: "管理兼容 RocketMQ 的集群、主题、消费组与消息。",
  username: "用户名",
  password: "密码",
  submit: "登录",
  firstTime: "首次使用：admin 的密码由 `make up` 打印，仅显示一次。",
  wrong: "用户名或密码不正确，或者该账号已停用。",
  out: {
    title: "您已退出登录",
    detail: "会话已结束或被终止。页面内容会保留：重新登录即可继续。",
    other: "使用其他账号登录",
  },
};
