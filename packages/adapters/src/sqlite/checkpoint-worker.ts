import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** A thread with its own connection that copies the write-ahead log. PASSIVE neither blocks a writer nor waits for a reader. */
const db = new DatabaseSync(String(workerData), { timeout: 1000 })
const checkpoint = db.prepare('pragma wal_checkpoint(passive)')

parentPort?.on('message', () => {
  try {
    checkpoint.get()
    parentPort?.postMessage('done')
  } catch {
    parentPort?.postMessage('failed') // for example because the disk is full
  }
})
