import { request } from 'node:http'
import { join } from 'node:path'

/** What a process has used since its start; the heap after a collection. Bytes, and milliseconds of all its threads. */
export type Used = { readonly cpuMs: number; readonly rss: number; readonly heapUsed: number }

export type Probe = {
  /** What the process to be measured needs in its environment. */
  readonly env: Readonly<Record<string, string>>
  used(): Promise<Used>
  startProfile(): Promise<void>
  /** @returns the path of the profile, as Chromium's tools read it */
  stopProfile(): Promise<string>
}

/** @param folder an existing one, whose path is short enough for a socket's name */
export function probeIn(folder: string): Probe {
  const script = new URL('./probe.ts', import.meta.url).pathname
  const ask = <T>(path: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const sent = request({ socketPath: join(folder, 'probe'), path }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () => resolve(JSON.parse(text) as T)) // probe.ts answers so
      })
      sent.on('error', reject).end()
    })
  return {
    env: { PENSTOCK_TEST_PROBE: folder, NODE_OPTIONS: `--import=${script}` },
    used: () => ask('/used'),
    startProfile: () => ask('/profile/start'),
    stopProfile: async () => (await ask<{ path: string }>('/profile/stop')).path,
  }
}
