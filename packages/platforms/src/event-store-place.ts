import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import type { DataDir } from './data-dir.ts'

export const isKurrent = (url: string): boolean => /^(kurrentdb|esdb)(\+discover)?:/.test(url)

/** In a data folder whose facts are in a server: its address without the password. */
const FILE = 'event-store.url'

/** @returns the address of the server with the facts of a data folder or its market.db; undefined where they are in market.db */
export function serverOf(place: string): string | undefined {
  const file = join(place.endsWith('.db') ? dirname(place) : place, FILE)
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}

/**
 * A folder keeps the store that it began with, since read models, log heads and positions go with its facts.
 * @param hasFacts whether market.db has any
 * @returns whether the facts are in a server
 * @throws ConfigError with what to change, where the folder is of another store
 */
export function keepsStore({ path }: DataDir, { eventStore }: Pick<Config, 'eventStore'>, hasFacts: boolean): boolean {
  const begun = serverOf(path)
  if (eventStore === '') {
    if (begun === undefined) return false
    throw new ConfigError(`The facts of ${path} are in the event store at ${begun}; set PENSTOCK_EVENT_STORE to it.`)
  }
  if (!isKurrent(eventStore))
    throw new ConfigError(
      'PENSTOCK_EVENT_STORE has to be a kurrentdb:// url for a market in one process; PostgreSQL is for a cluster.',
    )
  const asked = withoutPassword(eventStore)
  if (begun === undefined && hasFacts)
    throw new ConfigError(
      `The facts of ${path} are in its market.db; leave PENSTOCK_EVENT_STORE empty, or set PENSTOCK_DATA_DIR to another folder.`,
    )
  if (begun !== undefined && hostsOf(begun) !== hostsOf(asked))
    throw new ConfigError(
      `The facts of ${path} are in the event store at ${begun}. If the same store has moved, write its new address into ${join(path, FILE)}.`,
    )
  if (begun === undefined) writeFileSync(join(path, FILE), `${asked}\n`, { mode: 0o600, flush: true })
  return true
}

const withoutPassword = (url: string): string => url.replace(/(:\/\/[^:/@?]*):.*@/, '$1@')

/** For people: hosts and ports. */
export const hostsOf = (url: string): string => url.replace(/^[^:]*:\/\/(.*@)?/, '').split(/[?/]/, 1)[0] ?? ''
