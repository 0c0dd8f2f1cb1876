import { Agent, request } from 'node:http'
import { perSecond, quantile } from './harness.ts'

export type Call = (body: string) => Promise<string>

/** Posts JSON over connections that stay open, as many as callers. */
export function poster(
  url: string,
  callers: number,
  headers: Readonly<Record<string, string>> = {},
): { readonly call: Call; readonly close: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  return {
    call: (body) =>
      new Promise((resolve, reject) => {
        const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
        const sent = request(url, { method: 'POST', agent, headers: { ...headers, ...length } }, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          response.on('end', () =>
            response.statusCode === 200 ? resolve(text) : reject(new Error(`HTTP ${response.statusCode}: ${text}`)),
          )
        })
        sent.on('error', reject).end(body)
      }),
    close: () => agent.destroy(),
  }
}

/** Callers that each call again as soon as they are answered. @returns how long each call took, in milliseconds */
export async function durations(callers: number, calls: number, call: () => Promise<unknown>): Promise<readonly number[]> {
  const taken: number[] = []
  let left = calls
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now()
      await call()
      taken.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return taken
}

/** @returns milliseconds: the median and the 99th percentile */
export async function latencies(
  callers: number,
  calls: number,
  call: () => Promise<unknown>,
): Promise<readonly [number, number]> {
  const taken = await durations(callers, calls, call)
  return [quantile(taken, 0.5), quantile(taken, 0.99)]
}

/** @returns calls a second */
export const throughput = (callers: number, calls: number, call: () => Promise<unknown>): Promise<number> =>
  perSecond(calls, async () => void (await durations(callers, calls, call)))
