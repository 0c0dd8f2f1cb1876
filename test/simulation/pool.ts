import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeedOutcome } from './run-plan.ts'
import type { WorkerMessage, SimulationTask } from './worker.ts'

const WORKER_FILE = fileURLToPath(new URL('worker.ts', import.meta.url))
/** A worker is replaced after this many tasks. Simulated crashes leave promises that never settle, so its memory grows. */
const TASKS_PER_WORKER = 40
/** The invariant that a plan breaks if its worker ran out of memory, was killed or failed. */
const WORKER_SURVIVES = 'the worker survives'
/** The longest plans take half a minute on a busy machine, so a worker without an answer for this time hangs. */
const TASK_TIMEOUT_MS = 300_000

export const isWorkerLost = ({ violation }: SeedOutcome): boolean => violation?.invariant === WORKER_SURVIVES

/** Runs tasks in parallel processes, and returns the outcome of each. */
export type SimulationWorkers = {
  /**
   * Runs a task. If the worker ends or does not answer for five minutes, the plan fails and a new worker replaces it. If the
   * worker ends before it reads the task, an earlier plan is the cause, and another worker runs the task.
   */
  run(task: SimulationTask): Promise<SeedOutcome>
  /** Descriptions of workers that ended while they ran no plan, each with its last seed, whose plan must be the cause. */
  unexpectedExits(): readonly string[]
  readonly pids: () => readonly number[]
  close(): void
}

export type WorkerPoolOptions = {
  /** Resolves at the timeout of a task, and rejects when the signal aborts. */
  readonly waitForTimeout?: (signal: AbortSignal) => Promise<unknown>
  /** Called when a worker has begun a task. */
  readonly onBegun?: (task: SimulationTask) => void
}

type Worker = { readonly child: ChildProcess; tasks: number; lastSeed: number | undefined; isBusy: boolean; isDismissed: boolean }
/** `not begun`: the worker ended before it read the task. */
type TaskResult = SeedOutcome | 'not begun'

export function createSimulationWorkers(
  size: number,
  {
    waitForTimeout = (signal) => sleep(TASK_TIMEOUT_MS, undefined, { signal }),
    onBegun = () => undefined,
  }: WorkerPoolOptions = {},
): SimulationWorkers {
  const idleWorkers: Worker[] = []
  const waitingTasks: ((worker: Worker) => void)[] = []
  const all = new Set<Worker>()
  const unexpectedExits: string[] = []
  const add = (): Worker => {
    const worker = startWorker()
    worker.child.once('exit', (code, signal) => {
      if (!worker.isBusy && !worker.isDismissed) unexpectedExits.push(describeExit(worker, code, signal))
    })
    all.add(worker)
    return worker
  }
  const dismiss = (worker: Worker): void => {
    worker.isDismissed = true
    all.delete(worker)
    worker.child.kill()
  }
  const replaceWorker = (worker: Worker): Worker => {
    dismiss(worker)
    return add()
  }
  const assign = (worker: Worker): void => {
    const next = waitingTasks.shift()
    if (next) next(worker)
    else idleWorkers.push(worker)
  }
  for (let index = 0; index < size; index++) idleWorkers.push(add())
  return {
    async run(task) {
      for (;;) {
        const candidate = idleWorkers.shift() ?? (await new Promise<Worker>((resolve) => waitingTasks.push(resolve)))
        // A worker may have ended while it was idle.
        const worker = hasEnded(candidate) ? replaceWorker(candidate) : candidate
        const result = await runTask(worker, task, { waitForTimeout, onBegun })
        if (result === 'not begun') unexpectedExits.push(describeExit(worker, worker.child.exitCode, worker.child.signalCode))
        else worker.lastSeed = task.plan.seed
        assign(hasEnded(worker) || ++worker.tasks >= TASKS_PER_WORKER ? replaceWorker(worker) : worker)
        if (result !== 'not begun') return result
      }
    },
    unexpectedExits: () => unexpectedExits,
    pids: () => [...all].flatMap(({ child }) => child.pid ?? []),
    close() {
      for (const worker of all) dismiss(worker)
    },
  }
}

const startWorker = (): Worker => ({
  child: fork(WORKER_FILE, {
    execArgv: ['--no-warnings'],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  }),
  tasks: 0,
  lastSeed: undefined,
  isBusy: false,
  isDismissed: false,
})

const hasEnded = ({ child }: Worker): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null

const formatExit = (code: number | null, signal: string | null): string =>
  code === null ? `it was killed by ${signal}` : `it ended with exit code ${code}`

const describeExit = ({ lastSeed }: Worker, code: number | null, signal: string | null): string =>
  `a worker without a plan, ${lastSeed === undefined ? 'before its first one' : `after seed ${lastSeed}`}: ${formatExit(code, signal)}`

async function runTask(
  worker: Worker,
  task: SimulationTask,
  { waitForTimeout, onBegun }: Required<WorkerPoolOptions>,
): Promise<TaskResult> {
  const { child } = worker
  const finished = new AbortController()
  worker.isBusy = true
  try {
    return await new Promise<TaskResult>((resolve) => {
      let [hasBegun, hasTimedOut] = [false, false]
      const onError = (error: Error): void => resolve(createLostOutcome(task, `it could not be started (${error.message})`))
      const onExit = (code: number | null, signal: string | null): void => {
        if (hasTimedOut) resolve(createLostOutcome(task, 'it gave no answer for minutes'))
        else resolve(hasBegun || worker.tasks === 0 ? createLostOutcome(task, formatExit(code, signal)) : 'not begun')
      }
      // The casts are safe because worker.ts sends only these messages.
      const onMessage = (message: unknown): void => {
        if ((message as WorkerMessage) !== 'begun') return resolve(message as SeedOutcome)
        hasBegun = true
        onBegun(task)
      }
      child.once('error', onError).once('exit', onExit).on('message', onMessage)
      finished.signal.addEventListener('abort', () => child.off('error', onError).off('exit', onExit).off('message', onMessage))
      const killSilent = (): void => {
        hasTimedOut = true
        child.kill('SIGKILL')
      }
      waitForTimeout(finished.signal).then(killSilent, () => undefined)
      // Sending fails only if the worker ends, and then `onExit` reports the end.
      child.send(task, () => undefined)
    })
  } finally {
    finished.abort()
    worker.isBusy = false
  }
}

/** Creates the outcome of a plan whose worker was lost, without results. */
const createLostOutcome = ({ plan }: SimulationTask, reason: string): SeedOutcome => ({
  plan,
  violation: { invariant: WORKER_SURVIVES, message: `${WORKER_SURVIVES}: ${reason}`, stack: '' },
  scheduleTrace: '',
  steps: 0,
  virtualMs: 0,
  cpuMs: 0,
  faults: {},
  transitions: {},
  statuses: {},
  events: 0,
  crashPoints: [],
  flowLinks: [],
  recentSteps: [],
  traceLines: [],
})
