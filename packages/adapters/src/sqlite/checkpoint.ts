import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { preallocateWal } from './preallocate.ts'

/** The copy starts after IDLE_MS without a write, or when the write-ahead log reaches MAX_WAL_BYTES. */
const IDLE_MS = 25
const MAX_WAL_BYTES = 48 << 20
/** A copy of fewer frames is not worth two flushes. */
const MIN_FRAMES = 64
/** The pause after a copy that failed, for example because the disk is full. */
const FAILED_MS = 1000

export type Checkpoints = { onCommit(): void; close(): Promise<void> }

export type CheckpointOptions = {
  /** Extends the write-ahead log before its use, so that a flush of a commit is faster. */
  readonly preallocates: boolean
}

/**
 * Copies the write-ahead log into the database off the critical path. A worker copies most frames, and the writer copies the few
 * that arrive meanwhile. SQLite then restarts the log at its beginning, so its file does not grow.
 */
export function startCheckpointing(path: string, db: DatabaseSync, { preallocates }: CheckpointOptions): Checkpoints {
  const { framesLeft, copyRest } = openWal(db)
  const maxFrames = MAX_WAL_BYTES / Number(db.prepare('pragma page_size').get()?.['page_size'])
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let isCopying = false
  let hasWritten = false
  let isPreallocated = !preallocates
  let inlineFrames = 0

  function tick(): void {
    timer = undefined
    // SQLite counts and copies frames only outside of a transaction of this connection.
    if (db.isTransaction) return scheduleTick()
    const isIdle = !hasWritten
    hasWritten = false
    const frames = framesLeft()
    if (!isPreallocated && frames >= MIN_FRAMES) isPreallocated = preallocateWal(db, path)
    if (frames >= (isIdle ? MIN_FRAMES : maxFrames)) copy()
    else if (!isIdle || (!isPreallocated && frames >= MIN_FRAMES)) scheduleTick()
  }
  function scheduleTick(afterMs = IDLE_MS): void {
    if (!closed) timer ??= setTimeout(tick, afterMs).unref()
  }
  function copy(): void {
    isCopying = true
    inlineFrames = MIN_FRAMES
    worker ??= startWorker(path, afterPass, (hasEnded) => {
      if (hasEnded) worker = undefined
      isCopying = false
      // Without a copy the log only grows. A later tick tries again.
      scheduleTick(FAILED_MS)
    })
    worker.postMessage('checkpoint')
  }
  /** Copies the rest in the writer if few frames are left, or else starts another pass. The writer's limit doubles per pass. */
  function afterPass(): void {
    if (closed) return
    if (db.isTransaction) return worker?.postMessage('checkpoint')
    const left = framesLeft()
    inlineFrames *= 2
    if (left > inlineFrames) return worker?.postMessage('checkpoint')
    if (left > 0) copyRest()
    isCopying = false
    if (hasWritten) scheduleTick()
  }
  return {
    onCommit() {
      hasWritten = true
      if (!isCopying) scheduleTick()
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await worker?.terminate()
    },
  }
}

function openWal(db: DatabaseSync) {
  // NOOP returns the counts and copies nothing (SQLite 3.51). Older versions treat it as PASSIVE, which is correct but slower.
  const walStatus = db.prepare('pragma wal_checkpoint(noop)')
  const walCopy = db.prepare('pragma wal_checkpoint(passive)')
  return {
    framesLeft: (): number => {
      const row = walStatus.get()
      return Number(row?.['log']) - Number(row?.['checkpointed'])
    },
    copyRest: (): void => {
      try {
        walCopy.get()
      } catch {
        // The disk may be full. The log then grows, and a later pass copies it.
      }
    },
  }
}

/** @param onFailed is called after a copy that failed, and with `true` if the worker has ended */
function startWorker(path: string, onPass: () => void, onFailed: (hasEnded: boolean) => void): Worker {
  const worker = new Worker(new URL('./checkpoint-worker.ts', import.meta.url), { workerData: path })
  worker.unref()
  worker.on('message', (result) => (result === 'done' ? onPass() : onFailed(false)))
  worker.on('error', () => onFailed(true))
  return worker
}
