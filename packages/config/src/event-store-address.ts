import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'
import type { DataDir } from './data-dir.ts'

export const isKurrentUrl = (url: string): boolean => /^(kurrentdb|esdb)(\+discover)?:/i.test(url)

/** The file in a data folder with the address of its event store server, without the password. */
const FILE = 'event-store.url'

/** @param path a data folder or its market.db @returns the event store server's address; undefined if market.db has the facts */
export function readServerAddress(path: string): string | undefined {
  const file = join(path.endsWith('.db') ? dirname(path) : path, FILE)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/**
 * Checks that a folder uses the store of its first start, because its read models and log heads match that store's facts.
 * @param hasFacts whether market.db contains facts
 * @returns whether the facts are in a server
 * @throws ConfigError with the required change if the folder belongs to another store
 */
export function isStoreInServer({ path }: DataDir, { eventStore }: Pick<Config, 'eventStore'>, hasFacts: boolean): boolean {
  const recorded = readServerAddress(path)
  if (eventStore === '') {
    if (recorded === undefined) return false
    throw new ConfigError(`The facts of ${path} are in the event store at ${recorded}; set PENSTOCK_EVENT_STORE to it.`)
  }
  if (!isKurrentUrl(eventStore))
    throw new ConfigError(
      'PENSTOCK_EVENT_STORE has to be a kurrentdb:// url for a market in one process; PostgreSQL is for a cluster.',
    )
  const configured = stripPassword(eventStore)
  if (recorded === undefined && hasFacts)
    throw new ConfigError(
      `The facts of ${path} are in its market.db; leave PENSTOCK_EVENT_STORE empty, or set PENSTOCK_DATA_DIR to another folder.`,
    )
  if (recorded !== undefined && hostsOfUrl(recorded) !== hostsOfUrl(configured))
    throw new ConfigError(
      `The facts of ${path} are in the event store at ${recorded}. If the same store has moved, write its new address into ${join(path, FILE)}.`,
    )
  if (recorded === undefined) writeFileSync(join(path, FILE), `${configured}\n`, { mode: 0o600, flush: true })
  return true
}

const stripPassword = (url: string): string => url.replace(/(:\/\/[^:/@?]*):.*@/, '$1@')

/** @returns the hosts and ports of a url, to display and to compare */
export const hostsOfUrl = (url: string): string => url.replace(/^[^:]*:\/\/(.*@)?/, '').split(/[?/]/, 1)[0] ?? ''
