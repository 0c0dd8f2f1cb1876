import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { growLog } from './preallocate.ts'

/** The log is copied when nobody has written for a moment, and at the latest when it has grown to so many bytes. */
const IDLE_MS = 25
const MOST_BYTES = 48 << 20
/** Fewer frames are not worth two flushes. */
const FEWEST_FRAMES = 64

/**
 * Copies the write-ahead log into the database off the critical path: a worker copies, and the writer adds the few
 * frames that came meanwhile. A log that is copied whole starts over at its beginning, so its file does not grow.
 */
export function keepCheckpointed(path: string, db: DatabaseSync): { committed(): void; close(): Promise<void> } {
  const { framesLeft, copyRest } = logOf(db)
  const mostFrames = MOST_BYTES / Number(db.prepare('pragma page_size').get()?.['page_size'])
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let copying = false
  let wrote = false
  let hasItsSize = false
  let inlineFrames = 0

  function tick(): void {
    timer = undefined
    const idle = !wrote
    wrote = false
    const frames = framesLeft()
    if (!hasItsSize && frames >= FEWEST_FRAMES) hasItsSize = growLog(db, path)
    if (frames >= (idle ? FEWEST_FRAMES : mostFrames)) copy()
    else if (!idle || (!hasItsSize && frames >= FEWEST_FRAMES)) lookLater()
  }
  function lookLater(): void {
    if (!closed) timer ??= setTimeout(tick, IDLE_MS).unref()
  }
  function copy(): void {
    copying = true
    inlineFrames = FEWEST_FRAMES
    worker ??= startWorker(path, afterPass, () => {
      // Without it the log only grows: the next look starts another.
      worker = undefined
      copying = false
      lookLater()
    })
    worker.postMessage('checkpoint')
  }
  /** Passes get shorter as they catch up. Where writers are as fast, the writer's own share grows until it suffices. */
  function afterPass(): void {
    if (closed) return
    const left = framesLeft()
    inlineFrames *= 2
    if (left > inlineFrames) return worker?.postMessage('checkpoint')
    if (left > 0) copyRest()
    copying = false
    if (wrote) lookLater()
  }
  return {
    committed() {
      wrote = true
      if (!copying) lookLater()
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await worker?.terminate()
    },
  }
}

function logOf(db: DatabaseSync) {
  // NOOP answers with the counts and copies nothing (SQLite 3.51; an older one takes it for PASSIVE, which is right but slower).
  const look = db.prepare('pragma wal_checkpoint(noop)')
  const inline = db.prepare('pragma wal_checkpoint(passive)')
  return {
    framesLeft: (): number => {
      const row = look.get()
      return Number(row?.['log']) - Number(row?.['checkpointed'])
    },
    copyRest: (): void => void inline.get(),
  }
}

function startWorker(path: string, passed: () => void, failed: () => void): Worker {
  const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: path })
  worker.unref()
  worker.on('message', passed)
  worker.on('error', failed)
  return worker
}
