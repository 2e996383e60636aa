// ali-ons (Node) against a RocketMQ-compatible cluster: sends, then a push consumer reads all back.
//
// Usage: node interop.js NAMESERVER TOPIC GROUP COUNT [receive|await BODY]. One JSON line per event on standard output.
// With an errand it sends nothing: it reads COUNT messages that others sent, or until BODY comes.
'use strict';

const { Consumer, Message, Producer } = require('ali-ons');

const [nameServer, topic, group, countText, errand, awaited] = process.argv.slice(2);
const count = Number(countText);
const PATIENCE_MS = 60000;
const httpclient = { request() { throw new Error('the name server is given, no lookup is wanted'); } };
const silent = { info() {}, warn() {}, debug() {}, error: console.error };

function emit(event) {
  process.stdout.write(JSON.stringify(event) + '\n');
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

async function send() {
  const producer = new Producer({ httpclient, logger: silent, nameSrv: nameServer, producerGroup: 'interop-node' });
  producer.on('error', fail);
  await producer.ready();
  for (let n = 0; n < count; n++) {
    const message = new Message(topic, 'node', `single-${n}`);
    message.keys = [`node-key-${n}`];
    const result = await producer.send(message);
    emit({
      event: 'sent',
      status: result.sendStatus,
      msgId: result.msgId,
      queueId: Number(result.messageQueue.queueId),
      queueOffset: Number(result.queueOffset),
    });
  }
  await producer.close();
}

async function receive() {
  const consumer = new Consumer({
    httpclient, logger: silent, nameSrv: nameServer, consumerGroup: group, consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET',
  });
  // It also reports what it then copes with, such as a group that has no offset yet (22): noted, not fatal.
  consumer.on('error', error => emit({ event: 'complaint', code: error.code, text: String(error.message) }));
  let received = 0;
  const done = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`only ${received} of ${count} messages arrived`)), PATIENCE_MS).unref();
    consumer.subscribe(topic, errand ? '*' : 'node', async message => {
      emit({
        event: 'received',
        body: message.body.toString(),
        msgId: message.msgId,
        queueId: message.queueId,
        queueOffset: Number(message.queueOffset),
      });
      received += 1;
      if (awaited ? message.body.toString() === awaited : received === count) {
        resolve();
      }
    });
  });
  await consumer.ready();
  await done;
  await consumer.close();
}

(errand ? receive() : send().then(receive)).then(() => process.exit(0), fail);
