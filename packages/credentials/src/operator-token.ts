import { existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import type { Ids } from '@penstock/ports/clock.ts'
import type { Config } from '@penstock/config/config.ts'
import { ConfigError } from '@penstock/config/config-error.ts'
import { isReadableByOthers } from '@penstock/config/secret-file.ts'
import type { DataDir } from '@penstock/config/data-dir.ts'

/** Least number of characters. A shorter token can be guessed, and an empty token would admit every caller. */
const MIN_LENGTH = 16

/**
 * Finds the token of the operator routes: in the configured file, else in the environment, else in the data folder. The
 * first start creates the file in the data folder.
 * @throws ConfigError with the remedy if the token is too short or others may read its file
 */
export function resolveOperatorToken(
  dir: DataDir,
  { operatorToken: configured, operatorTokenFile }: Pick<Config, 'operatorToken' | 'operatorTokenFile'>,
  ids: Ids,
): string {
  if (operatorTokenFile !== '')
    return assertStrong(readPrivateFile(operatorTokenFile), `PENSTOCK_OPERATOR_TOKEN_FILE, ${operatorTokenFile},`)
  if (configured !== '') return assertStrong(configured, 'PENSTOCK_OPERATOR_TOKEN')
  if (!existsSync(dir.operatorToken)) createToken(dir.operatorToken, ids)
  return assertStrong(readPrivateFile(dir.operatorToken), dir.operatorToken)
}

function assertStrong(token: string, source: string): string {
  if (token.length >= MIN_LENGTH) return token
  throw new ConfigError(
    `The operator's token of ${source} has ${token.length} characters and needs at least ${MIN_LENGTH}: make one with "openssl rand -hex 32".`,
  )
}

/** @throws ConfigError if other users may read the file */
function readPrivateFile(path: string): string {
  const text = readFileSync(path, 'utf8').trim()
  if (isReadableByOthers(statSync(path))) throw new ConfigError(`${path} can be read by others; run: chmod 600 ${path}`)
  return text
}

/** Writes a temporary file and links it into place, so that two gateways that start together use the same token. */
function createToken(path: string, ids: Ids): void {
  const temporary = `${path}.${ids.uuid()}`
  writeFileSync(temporary, `${Buffer.from(ids.random(32)).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(temporary, path)
  } catch (error) {
    if (!existsSync(path)) throw error
  } finally {
    unlinkSync(temporary)
  }
}
