import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseWebAddress } from '@penstock/config/address-schemas.ts'
import { Failure } from './failure.ts'
import { isObject, type Json, getMember } from './json.ts'

export type CliEnv = Readonly<Record<string, string | undefined>>

/** Sends a request to the running service as its operator. @throws Failure with the service's own message if it refuses */
export type OperatorCall = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Json>

// The timeout is long because an audit reads every stream. Other requests are answered at once.
const TIMEOUT_MS = 24 * 3600 * 1000
const CHECKOUT_DIR = resolve(import.meta.dirname, '../../..')

/** @throws Failure if PENSTOCK_URL is no address */
export function readServiceUrl(env: CliEnv): string {
  const text = env['PENSTOCK_URL']?.trim() || 'http://127.0.0.1:8080'
  const parsed = parseWebAddress(text)
  if ('address' in parsed) return parsed.address
  throw new Failure(`PENSTOCK_URL is "${text.replace(/\/\/.*@/, '//…@')}"; it must be ${parsed.expected}.`)
}

export const readDataDir = (env: CliEnv): string => env['PENSTOCK_DATA_DIR'] || join(CHECKOUT_DIR, '.penstock')

export const createOperatorCall =
  (env: CliEnv): OperatorCall =>
  async (method, path, body) => {
    const url = `${readServiceUrl(env)}/operator${path}`
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${readOperatorToken(env)}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new Failure(describeUnreachable(readServiceUrl(env), error))
    })
    const text = await response.text().catch((error: unknown) => {
      throw new Failure(describeUnreachable(readServiceUrl(env), error))
    })
    const answer = tryParseJson(text)
    // An error after the status was sent has a body with only the member `error`.
    const errorMessage = isObject(answer) && Object.keys(answer).length === 1 ? getMember(answer, 'error') : null
    if (typeof errorMessage === 'string') throw new Failure(errorMessage)
    if (response.ok && answer !== undefined) return answer
    throw new Failure(`${url} answered HTTP ${response.status} without a reason: is this a Penstock of the same version?`)
  }

function readOperatorToken(env: CliEnv): string {
  const token = readConfiguredToken(env) ?? readStoredToken(env)
  if (token !== undefined) return token
  throw new Failure(
    `The operator's token cannot be read from ${locateTokenFile(env)}: start the service once, or set PENSTOCK_DATA_DIR or PENSTOCK_OPERATOR_TOKEN.`,
  )
}

export const readConfiguredToken = (env: CliEnv): string | undefined => {
  const file = env['PENSTOCK_OPERATOR_TOKEN_FILE'] || undefined
  return (file === undefined ? env['PENSTOCK_OPERATOR_TOKEN'] : readTrimmedFile(file)) || undefined
}

const locateTokenFile = (env: CliEnv): string => join(readDataDir(env), 'operator.token')

/** The token of the service on this machine; undefined if none can be read. */
export const readStoredToken = (env: CliEnv): string | undefined => readTrimmedFile(locateTokenFile(env))

function readTrimmedFile(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

function describeUnreachable(url: string, error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `The service at ${url} did not answer in time.`
  return `No service answers at ${url}: start it with "npm start", or set PENSTOCK_URL.`
}

function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON.parse yields nothing else
  } catch {
    return undefined
  }
}
