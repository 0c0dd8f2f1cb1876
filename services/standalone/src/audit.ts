import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readHeads } from '@penstock/platforms/audit-files.ts'
import { openAnywhere, type StoredAnywhere } from '@penstock/platforms/stored.ts'
import { audit, type AuditReport } from '@penstock/runtime/audit.ts'
import { type CheckReport, checkExport } from '@penstock/runtime/audit-check.ts'
import { exportOrder, type OrderExport } from '@penstock/runtime/audit-export.ts'
import { type Replay, replayOrder } from '@penstock/runtime/audit-replay.ts'
import { audited } from './services.ts'

/**
 * `note`: what an earlier audit said of the log's end. `headsDir`: the folder of the log heads, `keyFile`: the audit key, where
 * they are not beside the store.
 */
export type VerifyOptions = { readonly note?: string; readonly headsDir?: string; readonly keyFile?: string }

/** Audits a store, beside a running market or without one. */
export const verifyStore = (path: string, { note, headsDir, keyFile }: VerifyOptions = {}): Promise<AuditReport> =>
  reading(path, async (store) => {
    // Heads first: what they are about is then in the store, whatever is appended meanwhile.
    const heads = await headsOf(store, headsDir, keyFile)
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
  reading(path, async (store) => exportOrder(store, orderId, at, await (await headsOf(store))?.last()))

/** @throws Error with a sentence where it is no exported order */
export const checkFile = async (path: string): Promise<CheckReport> => checkExport(await readFile(path, 'utf8'), audited())

async function reading<T>(path: string, work: (store: StoredAnywhere) => Promise<T>): Promise<T> {
  const store = await openAnywhere(path)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** @throws Error where a key is given and nobody says which heads are signed with it */
async function headsOf({ file }: StoredAnywhere, headsDir?: string, keyFile?: string) {
  const beside = headsDir === undefined ? file : join(headsDir, 'market.db')
  if (beside !== undefined) return readHeads(beside, keyFile)
  if (keyFile !== undefined) throw new Error('A store on a server has no log heads beside it; name their folder with --heads.')
  return undefined
}
