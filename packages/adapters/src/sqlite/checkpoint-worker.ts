import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/** A thread with a connection of its own, which only copies. PASSIVE never makes a writer wait, and waits for nobody. */
const db = new DatabaseSync(String(workerData), { timeout: 1000 })
const checkpoint = db.prepare('pragma wal_checkpoint(passive)')

parentPort?.on('message', () => {
  checkpoint.get()
  parentPort?.postMessage('done')
})
