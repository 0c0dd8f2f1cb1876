import type { BusMessage } from '@penstock/ports/bus.ts'
import { createBatchInsert } from '../batch-insert.ts'
import type { MarketLog } from '../market-log.ts'

/** Adds messages inside the log's transactions, and numbers them in the order of their commits. */
export function createBusPublisher(log: MarketLog, now: () => number) {
  const { db } = log
  const rows = createBatchInsert(db, 'messages', ['seq', 'topic', 'at', 'id', 'key', 'headers', 'body'])
  const findTopic = db.prepare('select id from topics where name = ?')
  const insertTopic = db.prepare('insert into topics (name) values (?)')
  const findLast = db.prepare('select max(seq) as seq from messages')
  const topicIds = new Map<string, number>()
  let grownTopics = new Set<string>()
  let lastSeq: number | undefined

  log.onBeforeCommit(rows.flush)
  log.onReset(() => {
    rows.discard()
    topicIds.clear()
    grownTopics.clear()
    lastSeq = undefined
  })
  const topicId = (name: string): number => {
    const known = topicIds.get(name)
    if (known !== undefined) return known
    const id = Number(findTopic.get(name)?.['id'] ?? insertTopic.run(name).lastInsertRowid)
    topicIds.set(name, id)
    return id
  }

  return {
    /** @returns the number of the topic; a new topic gets the next one */
    topicId,
    publish(topic: string, messages: readonly BusMessage[]): void {
      const id = topicId(topic)
      const at = now()
      let seq = lastSeq ?? Number(findLast.get()?.['seq'] ?? 0)
      for (const message of messages)
        rows.add(++seq, id, at, message.id, message.key, JSON.stringify(message.headers), message.body)
      lastSeq = seq
      grownTopics.add(topic)
    },
    /** @returns the topics that grew since the last call */
    takeGrownTopics(): ReadonlySet<string> {
      const grown = grownTopics
      grownTopics = new Set()
      return grown
    },
  }
}
