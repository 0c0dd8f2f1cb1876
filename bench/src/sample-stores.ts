import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openMarketLog } from '@penstock/adapters/sqlite/market-log.ts'
import { generateSampleLog } from './sample-log.ts'

const createdFolders = new Set<string>()
process.once('exit', removeTempFolders)

/** Runs at the exit of the process. Tests call this function directly, because the test runner ends their process. */
export function removeTempFolders(): void {
  for (const folder of createdFolders) rmSync(folder, { recursive: true, force: true })
  createdFolders.clear()
}

/** Creates a folder for one measurement in bench/.penstock, because the system's temporary folder may not be on a disk. */
export function createTempFolder(name: string): string {
  const data = join(import.meta.dirname, '../.penstock')
  mkdirSync(data, { recursive: true })
  const folder = mkdtempSync(join(data, `${name}-`))
  createdFolders.add(folder)
  return folder
}

const IN_FLIGHT = 1024
const sampleStores = new Map<number, Promise<string>>()

/** @returns a folder whose market.db has at least `events` events of finished sales; all measurements share it */
export function prepareSampleStore(events: number): Promise<string> {
  const existing = sampleStores.get(events) ?? writeSampleStore(events)
  sampleStores.set(events, existing)
  return existing
}

async function writeSampleStore(events: number): Promise<string> {
  const folder = createTempFolder('sales')
  const log = openMarketLog(join(folder, 'market.db'))
  const target = sqliteEventStore(log)
  let pending: Promise<unknown>[] = []
  for (const { stream, expected, events: batch } of generateSampleLog(events)) {
    pending.push(target.append(stream, expected, batch))
    if (pending.length < IN_FLIGHT) continue
    await Promise.all(pending)
    pending = []
  }
  await Promise.all(pending)
  await target.close()
  await log.close()
  return folder
}
