import { Worker } from 'node:worker_threads'
import type { AuditReport } from '@penstock/runtime/audit.ts'
import type { VerifyOptions } from './audit.ts'

export type Asked = { readonly path: string; readonly options: VerifyOptions }
export type Answered = { readonly report: AuditReport } | { readonly fault: string }

/**
 * Audits a store in a thread of its own, so that orders go on at their speed while a million facts are folded. Audits
 * that are asked for meanwhile wait: one of them keeps a core busy.
 */
export const verifyBeside = (path: string, options: VerifyOptions): Promise<AuditReport> => {
  const mine = last.then(() => inThread({ path, options }))
  last = mine.catch(() => undefined)
  return mine
}

let last: Promise<unknown> = Promise.resolve()

function inThread(asked: Asked): Promise<AuditReport> {
  const worker = new Worker(new URL('./audit-worker.ts', import.meta.url), { workerData: asked })
  // A market that stops does not wait for its audits.
  worker.unref()
  return new Promise((resolve, reject) => {
    worker.once('message', (answered: Answered) =>
      'report' in answered ? resolve(answered.report) : reject(new Error(answered.fault)),
    )
    worker.once('error', reject)
    worker.once('exit', (code) => reject(new Error(`the audit ended with exit code ${code} before it was done`)))
  })
}
