import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readHeads } from '@penstock/platforms/audit-files.ts'
import { openAnywhere, type StoredAnywhere } from '@penstock/platforms/stored.ts'
import { audit, type AuditReport } from '@penstock/runtime/audit.ts'
import { type CheckReport, checkExport, parseExport } from '@penstock/runtime/audit-check.ts'
import type { OrderExport } from '@penstock/runtime/audit-export.ts'
import { compareExport, exportProven } from '@penstock/runtime/audit-heads-order.ts'
import { type Replay, replayOrder } from '@penstock/runtime/audit-replay.ts'
import { audited } from './services.ts'

/** `headsDir`: the folder of the log heads, `keyFile`: the audit key, where they are not beside the store. */
export type HeadsOptions = { readonly headsDir?: string; readonly keyFile?: string }
/** `note`: what an earlier audit said of the log's end. */
export type VerifyOptions = HeadsOptions & { readonly note?: string }

/** Audits a store, beside a running market or without one. */
export const verifyStore = (path: string, { note, headsDir, keyFile }: VerifyOptions = {}): Promise<AuditReport> =>
  reading(path, async (store) => {
    // Heads first: what they are about is then in the store, whatever is appended meanwhile.
    const heads = await headsOf(store, headsDir, keyFile)
    const storeFaults = await store.faults()
    return audit(store, audited(), { ...(heads && { heads }), ...(note !== undefined && { note }), storeFaults })
  })

/** @returns undefined where there is no such order */
export const replayStored = (path: string, orderId: string): Promise<Replay | undefined> =>
  reading(path, (store) => replayOrder(store, audited(), orderId))

/**
 * @returns undefined where there is no such order
 * @throws Error where the store is not what the log heads beside it say of this order
 */
export const exportStored = (
  path: string,
  orderId: string,
  { headsDir, keyFile }: HeadsOptions = {},
): Promise<OrderExport | undefined> =>
  reading(path, async (store) => exportProven(store, audited(), orderId, Date.now(), await headsOf(store, headsDir, keyFile)))

/**
 * Checks an exported order by itself, and against log heads where their folder is given.
 * @throws Error with a sentence where it is no exported order, or where there are no heads
 */
export async function checkFile(path: string, { headsDir, keyFile }: HeadsOptions = {}): Promise<CheckReport> {
  const text = await readFile(path, 'utf8')
  const report = checkExport(text, audited())
  if (headsDir === undefined) return report
  const heads = await readHeads(join(headsDir, 'market.db'), keyFile)
  if (!heads) throw new Error(`there are no log heads in ${headsDir}`)
  const { log, divergences } = await compareExport(parseExport(text), heads)
  return { ...report, log, divergences: [...report.divergences, ...divergences] }
}

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
