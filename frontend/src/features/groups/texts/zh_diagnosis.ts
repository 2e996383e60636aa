/** 诊断的词语。 */
import type { Same } from "@/shared/texts/i18n";
import type { en } from "./en";

export const diagnosis: Same<typeof en.diagnosis> = {
  lead: "十项检查，实时查询 Broker 和成员，并列出依据。",
  run: "重新诊断",
  withStacks: "包括线程栈",
  withStacksHint: "获取每个成员的线程栈：会占用成员一点时间，并记入审计日志。",
  asked: "查询于 {{time}}",
  download: "下载 JSON",
  worst: {
    ok: "没有发现问题",
    unknown: "没有发现问题，但有些情况无法得知",
    warning: "有情况需要关注",
    critical: "存在问题",
  },
  state: { ok: "正常", unknown: "未知", warning: "需关注", critical: "需处理" },
  evidence: "依据",
  check: {
    enabled: "允许消费",
    members: "成员在线",
    subscriptions: "订阅一致",
    spare_members: "每个成员都有队列",
    stuck_queues: "每个队列都在推进",
    growing_lag: "堆积没有增长",
    slow_consumers: "监听器处理快且成功",
    blocked_threads: "监听线程没有阻塞",
    retries: "没有重试和死信",
    offsets_in_range: "位点在队列范围内",
  },
  said: {
    enabled: {
      not_said: "没有 Broker 说明该消费组是否允许消费。",
      allowed: "该消费组允许消费。",
      off: "消费已关闭。",
    },
    members: {
      not_said: "没有 Broker 说明有哪些成员在线。",
      online: "在线成员：{{count}}。",
      nobody: "没有成员在线。",
      nobody_and_lag: "没有成员在线，且有消息等待消费。",
    },
    subscriptions: {
      not_said: "没有 Broker 说明有哪些成员在线。",
      nobody: "没有成员在线，不存在差异。",
      differ: "该组成员对 {{topic}} 的订阅不一致。",
      silent: "没有上报订阅的成员：{{count}}。",
      alike: "所有成员的订阅一致。",
    },
    spare_members: {
      not_said: "没有 Broker 说明有哪些成员在线。",
      nobody: "没有成员在线。",
      broadcasting: "每个成员都消费所有队列。",
      pop: "Pop 方式的成员共享队列。",
      spare: "{{members}} 个成员分配 {{queues}} 个队列：有成员没有队列。",
      enough: "成员数不多于队列数。",
    },
    stuck_queues: {
      not_said: "没有 Broker 说明有哪些成员在线。",
      held: "没有推进的队列：{{count}}。{{queue}} 由 {{member}} 持有。",
      free: "没有推进的队列：{{count}}。{{queue}} 无人持有。",
      moving: "每个有堆积的队列都在消费。",
      no_lag: "没有等待消费的消息。",
    },
    growing_lag: {
      too_few: "历史数据太少，无法判断。",
      growing: "堆积在 {{minutes}} 分钟内增加了 {{grown}}，且从未减少。",
      steady: "堆积没有持续增长。",
    },
    slow_consumers: {
      nobody: "没有成员在线，不存在消费慢的成员。",
      not_said: "并非所有成员都上报了监听器耗时。",
      failing: "{{member}} 在 {{topic}} 上失败多于成功。",
      slow: "{{member}} 处理 {{topic}} 的每条消息需要 {{ms}} 毫秒。",
      quick: "没有监听器处理单条消息超过一秒。",
    },
    blocked_threads: {
      not_taken: "没有获取线程栈。",
      blocked: "{{member}} 停在 {{call}} 的监听线程：{{count}}。",
      free: "没有两个监听线程停在同一调用处。",
    },
    retries: {
      not_said: "没有 Broker 说明重试和死信的数量。",
      dead: "保留的死信：{{count}}。",
      retrying: "等待重试的消息：{{count}}。",
      none: "没有等待重试的消息，也没有死信。",
    },
    offsets_in_range: {
      outside: "超出队列范围的已提交位点：{{count}}。",
      inside: "所有已提交位点都在队列范围内。",
    },
  },
  advice: {
    enabled: { off: "请在消费组的配置中开启。" },
    members: {
      nobody: "请启动消费者，或查看其日志了解离开的原因；重平衡记录了离开的时间。",
      nobody_and_lag: "请启动消费者，或查看其日志了解离开的原因；重平衡记录了离开的时间。",
    },
    subscriptions: {
      differ: "同一消费组的所有成员必须订阅一致，否则消息会丢失：请统一部署版本，或者使用不同的消费组。",
    },
    spare_members: { spare: "请为主题增加队列，或减少成员。" },
    stuck_queues: {
      held: "请查看持有该队列的成员的线程栈；重启该成员，或增加成员。",
      free: "请启动成员：没有成员消费这些队列。",
    },
    growing_lag: { growing: "消费慢于生产：请增加成员（不超过队列数），或提高处理速度。" },
    slow_consumers: {
      failing: "请查看该成员的日志：监听器抛出异常。",
      slow: "请查看线程栈，了解它在等待什么。",
    },
    blocked_threads: { blocked: "它们在那里等待的（锁、数据库、远程调用）拖慢了消费。" },
    retries: {
      dead: "请查看死信，修复失败原因，然后重新投递。",
      retrying: "监听器处理失败：请在它们成为死信之前查看成员的日志。",
    },
    offsets_in_range: {
      outside:
        "超过末尾：在队列到达之前不会投递，请重置到末尾。早于开头：消息未读即被删除，保留时间相对堆积过短。",
    },
  },
};
