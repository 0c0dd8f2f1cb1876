/**
 * Preloaded into a process that is measured (`node --import`): answers on a socket in the folder PENSTOCK_TEST_PROBE what it
 * has used, and records CPU profiles. It costs nothing while nobody asks.
 */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

const folder = process.env['PENSTOCK_TEST_PROBE']
if (isMainThread && folder !== undefined) answerIn(folder)

function answerIn(place: string): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void // what the flag has just added
  const session = new Session()
  const acts: Readonly<Record<string, () => Promise<object> | object>> = {
    '/used': () => {
      const { user, system } = process.cpuUsage()
      collect()
      const { rss, heapUsed, external } = process.memoryUsage()
      return { cpuMs: (user + system) / 1000, rss, heapUsed: heapUsed + external }
    },
    '/profile/start': async () => {
      session.connect()
      await session.post('Profiler.enable')
      await session.post('Profiler.setSamplingInterval', { interval: 200 })
      await session.post('Profiler.start')
      return {}
    },
    '/profile/stop': async () => {
      const { profile } = await session.post('Profiler.stop')
      session.disconnect()
      const path = join(place, 'profile.json')
      writeFileSync(path, JSON.stringify(profile))
      return { path }
    },
  }
  createServer((request, response) => {
    const act = acts[request.url ?? '']
    void Promise.resolve(act?.() ?? {}).then((answer) => response.end(JSON.stringify(answer)))
  })
    .listen(join(place, 'probe'))
    .unref()
}
