import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Failure } from './failure.ts'
import { isObject, type Json, member } from './json.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Asks the running service, as its operator. @throws Failure with the service's own sentence where it refuses */
export type Ask = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Json>

// An audit reads every stream, and the service sends spaces meanwhile; everything else answers at once.
const PATIENCE_MS = 24 * 3600 * 1000
const CHECKOUT = resolve(import.meta.dirname, '../../..')

export const serviceUrl = (env: Env): string => (env['PENSTOCK_URL'] || 'http://127.0.0.1:8080').replace(/\/+$/, '')

export const dataDir = (env: Env): string => env['PENSTOCK_DATA_DIR'] || join(CHECKOUT, '.penstock')

export const askService =
  (env: Env): Ask =>
  async (method, path, body) => {
    const url = `${serviceUrl(env)}/operator${path}`
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${operatorToken(env)}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new Failure(unreachable(serviceUrl(env), error))
    })
    const text = await response.text().catch((error: unknown) => {
      throw new Failure(unreachable(serviceUrl(env), error))
    })
    const answer = parse(text)
    // What went wrong after the status was sent has nothing else in its body.
    const sentence = isObject(answer) && Object.keys(answer).length === 1 ? member(answer, 'error') : null
    if (typeof sentence === 'string') throw new Failure(sentence)
    if (response.ok && answer !== undefined) return answer
    throw new Failure(`${url} answered HTTP ${response.status} without a reason: is this a Penstock of the same version?`)
  }

function operatorToken(env: Env): string {
  const token = givenToken(env) ?? storedToken(env)
  if (token !== undefined) return token
  throw new Failure(
    `The operator's token cannot be read from ${tokenFile(env)}: start the service once, or set PENSTOCK_DATA_DIR or PENSTOCK_OPERATOR_TOKEN.`,
  )
}

export const givenToken = (env: Env): string | undefined => {
  const file = env['PENSTOCK_OPERATOR_TOKEN_FILE'] || undefined
  return (file === undefined ? env['PENSTOCK_OPERATOR_TOKEN'] : contentOf(file)) || undefined
}

const tokenFile = (env: Env): string => join(dataDir(env), 'operator.token')

/** The token of the service on this machine; undefined where none can be read. */
export const storedToken = (env: Env): string | undefined => contentOf(tokenFile(env))

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

function unreachable(url: string, error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `The service at ${url} did not answer in time.`
  return `No service answers at ${url}: start it with "npm start", or set PENSTOCK_URL.`
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON.parse yields nothing else
  } catch {
    return undefined
  }
}
