import { readFile } from 'node:fs/promises'
import { readHeads } from '@penstock/platforms/audit-files.ts'
import { openStored, type Stored } from '@penstock/platforms/stored.ts'
import { audit, type AuditReport } from '@penstock/runtime/audit.ts'
import { type CheckReport, checkExport } from '@penstock/runtime/audit-check.ts'
import { exportOrder, type OrderExport } from '@penstock/runtime/audit-export.ts'
import { type Replay, replayOrder } from '@penstock/runtime/audit-replay.ts'
import { audited } from './services.ts'

/** `note`: what an earlier audit said of the log's end. `keyFile`: the audit key, where it is not beside the store. */
export type VerifyOptions = { readonly note?: string; readonly keyFile?: string }

/** Audits the store of an embedded installation, beside a running server or without one. */
export const verifyStore = (path: string, { note, keyFile }: VerifyOptions = {}): Promise<AuditReport> =>
  reading(path, async (store) => {
    // Heads first: what they are about is then in the store, whatever is appended meanwhile.
    const heads = await readHeads(store.file, keyFile)
    const [storeFault] = store.faults()
    return audit(store, audited(), {
      ...(heads && { heads }),
      ...(note !== undefined && { note }),
      ...(storeFault && { storeFault }),
    })
  })

/** @returns undefined where there is no such order */
export const replayStored = (path: string, orderId: string): Promise<Replay | undefined> =>
  reading(path, (store) => replayOrder(store, audited(), orderId))

/** @returns undefined where there is no such order */
export const exportStored = (path: string, orderId: string, at = Date.now()): Promise<OrderExport | undefined> =>
  reading(path, async (store) => exportOrder(store, orderId, at, await (await readHeads(store.file))?.last()))

/** @throws Error with a sentence where it is no exported order */
export const checkFile = async (path: string): Promise<CheckReport> => checkExport(await readFile(path, 'utf8'), audited())

async function reading<T>(path: string, work: (store: Stored) => Promise<T>): Promise<T> {
  const store = openStored(path)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
