import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { createDispatcher } from '../../shared/dispatcher.ts'
import { type BusOptions, createSubscriptions } from '../../shared/subscriptions.ts'
import { systemClock } from '../../system/clock.ts'
import { createProgressStore, createKeyQueueSource } from './bus-key-queues.ts'
import { createParkedKeyStore } from './bus-parked-keys.ts'
import { createBusPublisher } from './bus-publisher.ts'
import { startRetention, type RetentionOptions } from './bus-retention.ts'
import type { MarketLog } from '../market-log.ts'

/**
 * Stores messages in the market log, so that a publish is durable with the same commit as concurrent appends. Each group and
 * topic has a checkpoint, which is saved every 100 ms. After a crash some messages are delivered again. Only one process
 * subscribes; others may publish, list and replay.
 */
export function sqliteBus(log: MarketLog, options: BusOptions & RetentionOptions = {}): Bus {
  createTables(log)
  const { clock = systemClock } = options
  const now = (): number => clock.now()
  const publisher = createBusPublisher(log, now)
  const parked = createParkedKeyStore(log, now)
  const progressStore = createProgressStore(log)
  const activeSubscriptions = createSubscriptions(async (group, topic, dispatcherOptions) => {
    const topicId = await log.write(() => {
      progressStore.register(group, topic)
      return publisher.topicId(topic)
    })
    return createDispatcher(createKeyQueueSource(log, progressStore, parked, { group, topic, topicId }), dispatcherOptions)
  }, options)
  const stopListening = log.onCommit((isForeign) => {
    const grownTopics = publisher.takeGrownTopics()
    if (isForeign) for (const { group, topic, key } of parked.replaying()) activeSubscriptions.replay(group, topic, key)
    if (isForeign) activeSubscriptions.pump()
    else if (grownTopics.size > 0) activeSubscriptions.pump(grownTopics)
  })
  const retention = startRetention(log, now, options)
  let closed = false

  return {
    publish: (topic, messages) => log.write(() => publisher.publish(topic, messages)),
    subscribe: async (subscription) => {
      if (closed) throw new Fault('the bus is closed')
      return activeSubscriptions.subscribe(subscription)
    },
    parked: async () => parked.list(),
    async replay({ group, topic, key }) {
      const messages = await parked.startReplay(group, topic, key)
      if (messages > 0) activeSubscriptions.replay(group, topic, key)
      return messages
    },
    async close() {
      closed = true
      retention.close()
      await activeSubscriptions.close()
      progressStore.close()
      stopListening()
    },
  }
}

function createTables({ db, readOnly }: MarketLog): void {
  if (readOnly) return
  db.exec(`
    create table if not exists topics (id integer primary key, name text not null unique);
    create table if not exists messages (
      seq integer primary key, topic integer not null, at integer not null,
      id text not null, key text not null, headers text not null, body text not null
    );
    create index if not exists messages_of_topic on messages (topic, seq);
    create table if not exists checkpoints (
      consumer text not null, topic text not null, seq integer not null, primary key (consumer, topic)
    ) without rowid;
    create table if not exists parked_keys (
      consumer text not null, topic text not null, key text not null, reason text not null, since integer not null,
      replaying integer not null, primary key (consumer, topic, key)
    ) without rowid;
    create table if not exists parked_messages (
      consumer text not null, topic text not null, key text not null, seq integer not null,
      id text not null, headers text not null, body text not null, primary key (consumer, topic, key, seq)
    ) without rowid;
  `)
}
