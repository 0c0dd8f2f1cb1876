import { parentPort, workerData } from 'node:worker_threads'
import { verifyStore } from './audit.ts'
import type { VerifyResult, VerifyRequest } from './verify-in-worker.ts'

const { path, options } = workerData as VerifyRequest // verify-in-worker.ts starts this file

const result: VerifyResult = await verifyStore(path, options).then(
  (report) => ({ report }),
  (error: unknown) => ({ fault: error instanceof Error ? error.message : String(error) }),
)
parentPort?.postMessage(result)
