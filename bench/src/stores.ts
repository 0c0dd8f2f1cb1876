import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteEventStore } from '@penstock/adapters/sqlite/event-store.ts'
import { openLog } from '@penstock/adapters/sqlite/log.ts'
import { sales } from './sales.ts'

const made = new Set<string>()
process.once('exit', removeFolders)

/** At the end of a process, or of a test whose process is ended by others. */
export function removeFolders(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
  made.clear()
}

/** A folder for one measurement. Beside the sources: the one for temporary files may be in memory. */
export function scratch(name: string): string {
  const data = join(import.meta.dirname, '../.penstock')
  mkdirSync(data, { recursive: true })
  const folder = mkdtempSync(join(data, `${name}-`))
  made.add(folder)
  return folder
}

const IN_FLIGHT = 1024
const stored = new Map<number, Promise<string>>()

/** @returns a folder whose market.db has so many events of finished sales; made once for all measurements, never changed */
export function storeOfSales(events: number): Promise<string> {
  const known = stored.get(events) ?? store(events)
  stored.set(events, known)
  return known
}

async function store(events: number): Promise<string> {
  const folder = scratch('sales')
  const log = openLog(join(folder, 'market.db'))
  const target = sqliteEventStore(log)
  let waiting: Promise<unknown>[] = []
  for (const { stream, expected, events: added } of sales(events)) {
    waiting.push(target.append(stream, expected, added))
    if (waiting.length < IN_FLIGHT) continue
    await Promise.all(waiting)
    waiting = []
  }
  await Promise.all(waiting)
  await target.close()
  await log.close()
  return folder
}
