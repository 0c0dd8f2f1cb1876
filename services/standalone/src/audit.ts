import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLogHeads } from '@penstock/audit/head-files.ts'
import { openStoreAt, type LocatedStore } from '@penstock/platforms/open-store.ts'
import { verifyLog, type AuditReport } from '@penstock/audit/verify.ts'
import { type ExportCheckReport, checkExport, parseExport } from '@penstock/audit/check-export.ts'
import type { OrderExport } from '@penstock/audit/export-order.ts'
import { compareExport, exportVerified } from '@penstock/audit/compare-export.ts'
import { type OrderReplay, replayOrder } from '@penstock/audit/replay.ts'
import { createStreamServices } from './registry.ts'

/** `headsDir`: the folder of the log heads; `keyFile`: the audit key. Both are needed only if they are not beside the store. */
export type HeadsOptions = { readonly headsDir?: string; readonly keyFile?: string }
/** `note`: the note about the log's end that an earlier audit printed. */
export type VerifyOptions = HeadsOptions & { readonly note?: string }

/** Audits a store. Its market may run at the same time. */
export const verifyStore = (path: string, { note, headsDir, keyFile }: VerifyOptions = {}): Promise<AuditReport> =>
  withStore(path, async (store) => {
    // The heads are read first, so that the store contains all facts that they cover.
    const heads = await readStoreHeads(store, headsDir, keyFile)
    const storeFaults = await store.findFaults()
    return verifyLog(store, createStreamServices(), {
      ...(heads && { heads }),
      ...(note !== undefined && { note }),
      storeFaults,
    })
  })

/** @returns undefined if there is no such order */
export const replayStored = (path: string, orderId: string): Promise<OrderReplay | undefined> =>
  withStore(path, (store) => replayOrder(store, createStreamServices(), orderId))

/**
 * @returns undefined if there is no such order
 * @throws Error if the store contradicts the log heads about this order
 */
export const exportStored = (
  path: string,
  orderId: string,
  { headsDir, keyFile }: HeadsOptions = {},
): Promise<OrderExport | undefined> =>
  withStore(path, async (store) =>
    exportVerified(store, createStreamServices(), orderId, Date.now(), await readStoreHeads(store, headsDir, keyFile)),
  )

/**
 * Checks an exported order by itself, and against log heads if their folder is given.
 * @throws Error with a sentence if the file is no exported order, or if there are no heads
 */
export async function checkFile(path: string, { headsDir, keyFile }: HeadsOptions = {}): Promise<ExportCheckReport> {
  const text = await readFile(path, 'utf8')
  const report = checkExport(text, createStreamServices())
  if (headsDir === undefined) return report
  const heads = await readLogHeads(join(headsDir, 'market.db'), keyFile)
  if (!heads) throw new Error(`there are no log heads in ${headsDir}`)
  const { log, divergences } = await compareExport(parseExport(text), heads)
  return { ...report, log, divergences: [...report.divergences, ...divergences] }
}

async function withStore<T>(path: string, read: (store: LocatedStore) => Promise<T>): Promise<T> {
  const store = await openStoreAt(path)
  try {
    return await read(store)
  } finally {
    await store.close()
  }
}

/** @throws Error if a key is given without the heads that are signed with it */
async function readStoreHeads({ file }: LocatedStore, headsDir?: string, keyFile?: string) {
  const storeFile = headsDir === undefined ? file : join(headsDir, 'market.db')
  if (storeFile !== undefined) return readLogHeads(storeFile, keyFile)
  if (keyFile !== undefined) throw new Error('A store on a server has no log heads beside it; give their folder with --heads.')
  return undefined
}
