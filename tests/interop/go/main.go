// The official Go client against a RocketMQ-compatible cluster: sends, one batch, then a push consumer reads all back.
//
// Usage: interop NAMESERVER TOPIC GROUP COUNT [receive|receive-orderly|pull|await BODY]. One JSON line per event on
// standard output. With an errand it sends nothing: it reads COUNT messages that others sent, or until BODY comes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const patience = 60 * time.Second

func emit(event map[string]any) {
	line, err := json.Marshal(event)
	check(err)
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func send(nameServer, topic string, count int) {
	sender, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameServer})),
		producer.WithGroupName("interop-go"), producer.WithRetry(2))
	check(err)
	check(sender.Start())
	defer sender.Shutdown()
	batch := make([]*primitive.Message, 0, count)
	for n := 0; n < count; n++ {
		message := primitive.NewMessage(topic, []byte(fmt.Sprintf("single-%d", n)))
		message.WithTag("go").WithKeys([]string{fmt.Sprintf("go-key-%d", n)})
		result, err := sender.SendSync(context.Background(), message)
		check(err)
		emit(map[string]any{"event": "sent", "status": int(result.Status), "msgId": result.MsgID,
			"offsetMsgId": result.OffsetMsgID, "queueId": result.MessageQueue.QueueId, "queueOffset": result.QueueOffset})
		batch = append(batch, primitive.NewMessage(topic, []byte(fmt.Sprintf("batch-%d", n))).WithTag("go"))
	}
	result, err := sender.SendSync(context.Background(), batch...)
	check(err)
	emit(map[string]any{"event": "batch", "status": int(result.Status), "offsetMsgId": result.OffsetMsgID})
}

func tell(message *primitive.MessageExt) {
	emit(map[string]any{"event": "received", "body": string(message.Body), "msgId": message.MsgId,
		"queueId": message.Queue.QueueId, "queueOffset": message.QueueOffset})
}

func receive(nameServer, topic, group, expression string, count int, orderly bool, awaited string) {
	arrived := make(chan *primitive.MessageExt, count)
	reader, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameServer})),
		consumer.WithGroupName(group), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(orderly))
	check(err)
	check(reader.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: expression},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, message := range messages {
				arrived <- message
			}
			return consumer.ConsumeSuccess, nil
		}))
	check(reader.Start())
	deadline := time.After(patience)
	for n := 0; n < count || awaited != ""; n++ {
		select {
		case message := <-arrived:
			tell(message)
			if string(message.Body) == awaited {
				count, awaited = 0, ""
			}
		case <-deadline:
			check(fmt.Errorf("only %d of %d messages arrived", n, count))
		}
	}
	check(reader.Shutdown())
}

func pull(nameServer, topic, group string, count int) {
	reader, err := rocketmq.NewPullConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameServer})),
		consumer.WithGroupName(group), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	check(err)
	check(reader.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}))
	check(reader.Start())
	deadline := time.Now().Add(patience)
	for n := 0; n < count; {
		messages, err := reader.Poll(context.Background(), 2*time.Second)
		if consumer.IsNoNewMsgError(err) {
			if time.Now().After(deadline) {
				check(fmt.Errorf("only %d of %d messages arrived", n, count))
			}
			continue
		}
		check(err)
		for _, message := range messages.GetMsgList() {
			tell(message)
			n++
		}
		reader.ACK(context.Background(), messages, consumer.ConsumeSuccess)
	}
	check(reader.Shutdown())
}

func main() {
	rlog.SetLogLevel("error")
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	nameServer, topic, group := os.Args[1], os.Args[2], os.Args[3]
	if len(os.Args) == 5 {
		send(nameServer, topic, count)
		receive(nameServer, topic, group, "go", 2*count, false, "")
		return
	}
	switch os.Args[5] {
	case "receive", "receive-orderly":
		receive(nameServer, topic, group, "*", count, os.Args[5] == "receive-orderly", "")
	case "await":
		receive(nameServer, topic, group, "*", count, false, os.Args[6])
	case "pull":
		pull(nameServer, topic, group, count)
	default:
		check(fmt.Errorf("unknown errand %s", os.Args[5]))
	}
}
