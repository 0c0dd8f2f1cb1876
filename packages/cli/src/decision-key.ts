import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deriveDecisionKey } from '@penstock/config/decision-proof.ts'
import { Failure } from './failure.ts'
import { getMember, type Json } from './json.ts'
import { type CliEnv, readDataDir } from './operator-client.ts'

const KEY = /^[0-9a-f]{64}$/

/** Reads the decision key, or derives it from the keyring on this machine. @throws Failure if neither is there */
export function readDecisionKey(env: CliEnv): string {
  const given = env['PENSTOCK_DECISION_KEY']?.trim()
  if (given !== undefined && given !== '') {
    if (KEY.test(given)) return given
    throw new Failure('PENSTOCK_DECISION_KEY must be 64 hex digits, as "penstock payout key" prints them.')
  }
  const path = join(env['PENSTOCK_KEYRING_DIR'] || readDataDir(env), 'keyring.json')
  const key = readCurrentKey(path)
  if (key !== undefined) return deriveDecisionKey(key)
  throw new Failure(
    `A decision needs its key, and ${path} cannot be read: run "penstock payout key" beside the keyring, and set PENSTOCK_DECISION_KEY.`,
  )
}

function readCurrentKey(path: string): string | undefined {
  try {
    const file = JSON.parse(readFileSync(path, 'utf8')) as Json // JSON.parse yields nothing else
    const current = getMember(file, 'current')
    const key = typeof current === 'string' ? getMember(getMember(file, 'keys'), current) : null
    return typeof key === 'string' && KEY.test(key) ? key : undefined
  } catch {
    return undefined
  }
}
