import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runSuccessfully } from '../../../test/support/processes.ts'
import { type Benchmark, type BenchmarkRow, type BenchmarkSize, compareToReference, measureRate } from '../harness.ts'
import { createTempFolder } from '../sample-stores.ts'
import { type ReferenceServer, startReferenceServer } from './reference-servers.ts'
import { measurePosts } from './signed-posts.ts'
import { createAgent, type Load, startSender, storeDeliveries } from './stored-deliveries.ts'

const ROUNDS = 7
const ENDPOINTS = 64
const HANGING_ENDPOINTS = 6
const DELIVERIES = 50_000
const DUE_DELIVERIES = 100_000
const MEMORY_ROUNDS = 3
const MEMORY_MS = 15_000
const MIB = 1 << 20
const MAX_EXTRA_MIB = 64

type Bench = { readonly folder: string; readonly receiver: ReferenceServer; readonly agent: ReturnType<typeof createAgent> }

/** Compares the sender of webhooks with a loop of signed requests, by rate and by memory. */
export const deliveriesBenchmark: Benchmark = {
  name: 'deliveries',
  async run(size: BenchmarkSize) {
    const folder = createTempFolder('deliveries')
    const receiver = await startReferenceServer('receiving-server.ts')
    const bench = { folder, receiver, agent: createAgent() }
    try {
      return [
        ...(await compareToLoop(bench, size)),
        ...(await compareToHealthy(bench, size)),
        await measureMemory(bench, size, 'take'),
        await measureMemory(bench, size, 'loop'),
        await measureMemory(bench, size, 'hang'),
      ]
    } finally {
      await bench.agent.destroy()
      await receiver.close()
    }
  },
}

const listUrls = ({ receiver }: Bench, count: number, kind: 'take' | 'hang' = 'take'): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${receiver.url}${kind}/${n}`)

async function compareToLoop(bench: Bench, { isQuick }: BenchmarkSize): Promise<readonly BenchmarkRow[]> {
  const urls = listUrls(bench, ENDPOINTS)
  const deliveries = isQuick ? 128 : DELIVERIES
  const measure = async () => [await measureDrain(bench, { urls, deliveries }, deliveries)]
  const measureLoop = async () => [await measurePosts(bench.agent, urls, deliveries)]
  // Lets V8 compile the code before the measurement.
  await measureLoop()
  await measure()
  return compareToReference({
    rows: [{ description: '50,000 deliveries to 64 endpoints', unit: 'deliveries/s', target: 0.7 }],
    measure,
    reference: { name: 'a loop of signed requests by the same client, 64 at once', measure: measureLoop },
    rounds: isQuick ? 1 : ROUNDS,
  })
}

async function compareToHealthy(bench: Bench, { isQuick }: BenchmarkSize): Promise<readonly BenchmarkRow[]> {
  const healthy = listUrls(bench, ENDPOINTS - HANGING_ENDPOINTS)
  const hanging = listUrls(bench, HANGING_ENDPOINTS, 'hang')
  const perEndpoint = isQuick ? 2 : Math.floor(DELIVERIES / ENDPOINTS)
  const expected = perEndpoint * healthy.length
  const measureWith = (urls: readonly string[]) => async () => [
    await measureDrain(bench, { urls, deliveries: perEndpoint * urls.length }, expected),
  ]
  return compareToReference({
    rows: [{ description: 'the same, while 6 of the endpoints hang: the other 58', unit: 'deliveries/s', target: 0.9 }],
    measure: measureWith([...healthy, ...hanging]),
    reference: { name: 'the same 58 without them', measure: measureWith(healthy) },
    rounds: isQuick ? 1 : ROUNDS,
  })
}

/** @returns answered deliveries per second, from the start of the sender to the answer number `expected` */
async function measureDrain({ folder, agent }: Bench, load: Load, expected: number): Promise<number> {
  const path = join(folder, 'queue.db')
  await storeDeliveries(path, load)
  let answered = 0
  let sender: Awaited<ReturnType<typeof startSender>> | undefined
  const rate = await measureRate(
    expected,
    () =>
      new Promise<void>((resolve, reject) => {
        const onSent = (): void => {
          if (++answered === expected) resolve()
        }
        startSender(path, agent, onSent).then((started) => (sender = started), reject)
      }),
  )
  await sender?.close()
  for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true })
  return rate
}

const MEMORY_ROWS = {
  take: 'memory while 100,000 deliveries that are due are sent at full speed, above an idle process',
  loop: 'memory while the loop sends 100,000 requests, above the same idle process',
  hang: 'memory while 100,000 deliveries are due and their receivers hang, above an idle process',
} as const

/** Compares the memory of a process with a long queue, or with a loop of requests, with that of a process whose queue is empty. */
async function measureMemory(bench: Bench, { isQuick }: BenchmarkSize, kind: keyof typeof MEMORY_ROWS): Promise<BenchmarkRow> {
  const [due, idle] = [join(bench.folder, 'due.db'), join(bench.folder, 'idle.db')]
  const urls = listUrls(bench, ENDPOINTS, kind === 'hang' ? 'hang' : 'take')
  const deliveries = isQuick ? 128 : DUE_DELIVERIES
  const ms = isQuick ? 500 : MEMORY_MS
  await storeDeliveries(idle, { urls, deliveries: 0 })
  const figures: number[] = []
  for (let round = 0; round < (isQuick ? 1 : MEMORY_ROUNDS); round++) {
    if (kind !== 'loop') await storeDeliveries(due, { urls, deliveries })
    const full =
      kind === 'loop'
        ? readPeak('posting-process.ts', idle, `${deliveries}`, ...urls)
        : readPeak('sending-process.ts', due, `${ms}`)
    figures.push(((await full) - (await readPeak('sending-process.ts', idle, `${ms}`))) / MIB)
    for (const suffix of ['', '-wal', '-shm']) await rm(due + suffix, { force: true })
  }
  for (const suffix of ['', '-wal', '-shm']) await rm(idle + suffix, { force: true })
  return {
    description: MEMORY_ROWS[kind],
    unit: 'MiB',
    figures,
    reference: { name: 'the limit', figures: figures.map(() => MAX_EXTRA_MIB) },
    ratios: figures.map((figure) => figure / MAX_EXTRA_MIB),
    ...(kind !== 'loop' && { maxRatio: 1 }),
  }
}

/** Runs a process of this folder. @returns the most memory that it had (bytes) */
async function readPeak(script: string, ...args: readonly string[]): Promise<number> {
  const { stdout } = await runSuccessfully(process.execPath, [join(import.meta.dirname, script), ...args])
  return Number(stdout)
}
