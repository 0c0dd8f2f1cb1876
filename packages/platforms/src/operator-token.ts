import { existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import type { Ids } from '@penstock/ports/clock.ts'
import { type Config, ConfigError } from '@penstock/runtime/config.ts'
import { othersMayRead } from '@penstock/runtime/secret-file.ts'
import type { DataDir } from './data-dir.ts'

/** Shorter ones can be guessed, and an empty one would let everybody in. */
const LEAST_CHARACTERS = 16

/**
 * The token of operators' routes: of a file that was named, else the configured one, else one of the data folder, which is
 * made at the first start and stays.
 * @throws ConfigError with what to do, where it is too short or others may read its file
 */
export function operatorToken(
  dir: DataDir,
  { operatorToken: configured, operatorTokenFile }: Pick<Config, 'operatorToken' | 'operatorTokenFile'>,
  ids: Ids,
): string {
  if (operatorTokenFile !== '') return strong(fileText(operatorTokenFile), `PENSTOCK_OPERATOR_TOKEN_FILE, ${operatorTokenFile},`)
  if (configured !== '') return strong(configured, 'PENSTOCK_OPERATOR_TOKEN')
  if (!existsSync(dir.operatorToken)) makeToken(dir.operatorToken, ids)
  return strong(fileText(dir.operatorToken), dir.operatorToken)
}

function strong(token: string, source: string): string {
  if (token.length >= LEAST_CHARACTERS) return token
  throw new ConfigError(
    `The operator's token of ${source} has ${token.length} characters and needs at least ${LEAST_CHARACTERS}: make one with "openssl rand -hex 32".`,
  )
}

/** @throws ConfigError where others may read it */
function fileText(path: string): string {
  const text = readFileSync(path, 'utf8').trim()
  if (othersMayRead(statSync(path))) throw new ConfigError(`${path} can be read by others; run: chmod 600 ${path}`)
  return text
}

/** Written beside and linked into place: of two gateways that start at once one wins, and both know the same token. */
function makeToken(path: string, ids: Ids): void {
  const beside = `${path}.${ids.uuid()}`
  writeFileSync(beside, `${Buffer.from(ids.random(32)).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(beside, path)
  } catch (error) {
    if (!existsSync(path)) throw error
  } finally {
    unlinkSync(beside)
  }
}
