// The official Go client against a RocketMQ-compatible cluster: sends, one batch, then a push consumer reads all back.
//
// Usage: interop NAMESERVER TOPIC GROUP COUNT. One JSON line per event on standard output.
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

func receive(nameServer, topic, group string, count int) {
	arrived := make(chan *primitive.MessageExt, count)
	reader, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameServer})),
		consumer.WithGroupName(group), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	check(err)
	check(reader.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "go"},
		func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			for _, message := range messages {
				arrived <- message
			}
			return consumer.ConsumeSuccess, nil
		}))
	check(reader.Start())
	deadline := time.After(patience)
	for n := 0; n < count; n++ {
		select {
		case message := <-arrived:
			emit(map[string]any{"event": "received", "body": string(message.Body), "msgId": message.MsgId,
				"queueId": message.Queue.QueueId, "queueOffset": message.QueueOffset})
		case <-deadline:
			check(fmt.Errorf("only %d of %d messages arrived", n, count))
		}
	}
	check(reader.Shutdown())
}

func main() {
	rlog.SetLogLevel("error")
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	send(os.Args[1], os.Args[2], count)
	receive(os.Args[1], os.Args[2], os.Args[3], 2*count)
}
