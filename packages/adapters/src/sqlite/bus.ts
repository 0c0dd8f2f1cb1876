import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import { dispatcher } from '../shared/dispatcher.ts'
import { type BusOptions, subscriptions } from '../shared/subscriptions.ts'
import { systemClock } from '../system/clock.ts'
import { progressKeeper, laneSource } from './bus-lanes.ts'
import { parkedKeys } from './bus-parked.ts'
import { busPublisher } from './bus-publisher.ts'
import { keepRetention, type RetentionOptions } from './bus-retention.ts'
import type { MarketLog } from './log.ts'

/**
 * Messages in the shared log: a publish is durable with the same commit as the appends beside it. Each group and topic
 * has one number, up to which everything is handled; it is kept a few times a second, so a crash repeats a little.
 * One process subscribes; others may publish, list and replay.
 */
export function sqliteBus(log: MarketLog, options: BusOptions & RetentionOptions = {}): Bus {
  createTables(log)
  const { clock = systemClock } = options
  const now = (): number => clock.now()
  const publisher = busPublisher(log, now)
  const parked = parkedKeys(log, now)
  const keeper = progressKeeper(log)
  const running = subscriptions(async (group, topic, how) => {
    const topicId = await log.write(() => {
      keeper.register(group, topic)
      return publisher.topicId(topic)
    })
    return dispatcher(laneSource(log, keeper, parked, { group, topic, topicId }), how)
  }, options)
  const stopListening = log.onCommit((foreign) => {
    const touched = publisher.takeTouched()
    if (foreign) for (const { group, topic, key } of parked.replaying()) running.replay(group, topic, key)
    if (foreign) running.pump()
    else if (touched.size > 0) running.pump(touched)
  })
  const retention = keepRetention(log, now, options)
  let closed = false

  return {
    publish: (topic, messages) => log.write(() => publisher.publish(topic, messages)),
    subscribe: async (subscription) => {
      if (closed) throw new Fault('the bus is closed')
      return running.subscribe(subscription)
    },
    parked: async () => parked.list(),
    async replay({ group, topic, key }) {
      const messages = await parked.startReplay(group, topic, key)
      if (messages > 0) running.replay(group, topic, key)
      return messages
    },
    async close() {
      closed = true
      retention.close()
      await running.close()
      keeper.close()
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
