import { parentPort, workerData } from 'node:worker_threads'
import { verifyStore } from './audit.ts'
import type { Answered, Asked } from './audit-beside.ts'

const { path, options } = workerData as Asked // audit-beside.ts starts this file

const answered: Answered = await verifyStore(path, options).then(
  (report) => ({ report }),
  (error: unknown) => ({ fault: error instanceof Error ? error.message : String(error) }),
)
parentPort?.postMessage(answered)
