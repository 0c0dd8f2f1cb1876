import { Worker } from 'node:worker_threads'
import type { AuditReport } from '@penstock/audit/verify.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'
import type { VerifyOptions } from './audit.ts'

export type VerifyRequest = { readonly path: string; readonly options: VerifyOptions }
export type VerifyResult = { readonly report: AuditReport } | { readonly fault: string }

/**
 * Audits a store in a worker thread, so that folding a million facts does not slow down orders. Audits run one after
 * another, because each of them uses a whole core.
 */
export const verifyInWorker = (path: string, options: VerifyOptions): Promise<AuditReport> =>
  runAlone(() => runWorker({ path, options }))

const runAlone = createMutex()

function runWorker(request: VerifyRequest): Promise<AuditReport> {
  const worker = new Worker(new URL('./audit-worker.ts', import.meta.url), { workerData: request })
  // An unfinished audit does not keep a stopping market alive.
  worker.unref()
  return new Promise((resolve, reject) => {
    worker.once('message', (result: VerifyResult) =>
      'report' in result ? resolve(result.report) : reject(new Error(result.fault)),
    )
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the audit ended with exit code ${code} before it was done`)))
  })
}
