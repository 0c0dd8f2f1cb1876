import type { BusMessage } from '@penstock/ports/bus.ts'
import { batchInsert } from './batch-insert.ts'
import type { MarketLog } from './log.ts'

/** Adds messages inside the log's transactions, numbered in the order of their commits. */
export function busPublisher(log: MarketLog, now: () => number) {
  const { db } = log
  const rows = batchInsert(db, 'messages', ['seq', 'topic', 'at', 'id', 'key', 'headers', 'body'])
  const findTopic = db.prepare('select id from topics where name = ?')
  const insertTopic = db.prepare('insert into topics (name) values (?)')
  const findLast = db.prepare('select max(seq) as seq from messages')
  const topicIds = new Map<string, number>()
  let touched = new Set<string>()
  let lastSeq: number | undefined

  log.onBeforeCommit(rows.flush)
  log.onReset(() => {
    rows.drop()
    topicIds.clear()
    touched.clear()
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
    /** The topic's number; a new topic gets one. */
    topicId,
    publish(topic: string, messages: readonly BusMessage[]): void {
      const id = topicId(topic)
      const at = now()
      let seq = lastSeq ?? Number(findLast.get()?.['seq'] ?? 0)
      for (const message of messages)
        rows.add(++seq, id, at, message.id, message.key, JSON.stringify(message.headers), message.body)
      lastSeq = seq
      touched.add(topic)
    },
    /** The topics that grew since the last call. */
    takeTouched(): ReadonlySet<string> {
      const grown = touched
      touched = new Set()
      return grown
    },
  }
}
