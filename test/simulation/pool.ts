import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from './run-plan.ts'
import type { Said, Task } from './worker.ts'

const file = fileURLToPath(new URL('worker.ts', import.meta.url))
/** Dead processes of a run leave promises behind that wait for ever: a worker is renewed before that is much. */
const TASKS_A_WORKER = 40
/** What a plan breaks whose worker ended under it: out of memory, killed, or by an error of its own. */
const WORKER_LIVES = 'its worker lives'
/** The longest plans take half a minute on a machine that has much else to do. */
const PATIENCE_MS = 300_000

export const isWorkerLost = ({ broken }: Outcome): boolean => broken?.invariant === WORKER_LIVES

/** Runs tasks in so many processes beside each other, and hands out what became of them as it comes. */
export type Pool = {
  /**
   * A task whose worker ends, or says nothing for minutes, is a failure of its plan, with how the worker ended; another
   * worker takes its place. What an earlier plan has left may end a worker before it begins: then another one runs the task.
   */
  run(task: Task): Promise<Outcome>
  /** Workers that ended by themselves with no plan in hand, each with the seed that it ran last: what that left was its end. */
  strays(): readonly string[]
  readonly pids: () => readonly number[]
  close(): void
}

export type PoolOptions = {
  /** Ends when a worker has said nothing for too long, or with the signal. */
  readonly patience?: (signal: AbortSignal) => Promise<unknown>
  /** Hears of every task that a worker has begun. */
  readonly begun?: (task: Task) => void
}

type Worker = { readonly child: ChildProcess; tasks: number; seed: number | undefined; isBusy: boolean; isDismissed: boolean }
/** 'not begun': the worker ended before it had read its task. */
type Answer = Outcome | 'not begun'

export function openPool(
  size: number,
  { patience = (signal) => sleep(PATIENCE_MS, undefined, { signal }), begun = () => undefined }: PoolOptions = {},
): Pool {
  const idle: Worker[] = []
  const waiting: ((worker: Worker) => void)[] = []
  const all = new Set<Worker>()
  const strays: string[] = []
  const add = (): Worker => {
    const worker = started()
    worker.child.once('exit', (code, signal) => {
      if (!worker.isBusy && !worker.isDismissed) strays.push(strayed(worker, code, signal))
    })
    all.add(worker)
    return worker
  }
  const dismiss = (worker: Worker): void => {
    worker.isDismissed = true
    all.delete(worker)
    worker.child.kill()
  }
  const renewed = (worker: Worker): Worker => {
    dismiss(worker)
    return add()
  }
  const give = (worker: Worker): void => {
    const next = waiting.shift()
    if (next) next(worker)
    else idle.push(worker)
  }
  for (let index = 0; index < size; index++) idle.push(add())
  return {
    async run(task) {
      for (;;) {
        const given = idle.shift() ?? (await new Promise<Worker>((resolve) => waiting.push(resolve)))
        // One may have ended while it had nothing to do.
        const worker = hasEnded(given) ? renewed(given) : given
        const answer = await ask(worker, task, { patience, begun })
        if (answer === 'not begun') strays.push(strayed(worker, worker.child.exitCode, worker.child.signalCode))
        else worker.seed = task.plan.seed
        give(hasEnded(worker) || ++worker.tasks >= TASKS_A_WORKER ? renewed(worker) : worker)
        if (answer !== 'not begun') return answer
      }
    },
    strays: () => strays,
    pids: () => [...all].flatMap(({ child }) => child.pid ?? []),
    close() {
      for (const worker of all) dismiss(worker)
    },
  }
}

const started = (): Worker => ({
  child: fork(file, {
    execArgv: ['--no-warnings'],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  }),
  tasks: 0,
  seed: undefined,
  isBusy: false,
  isDismissed: false,
})

const hasEnded = ({ child }: Worker): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null

const howEnded = (code: number | null, signal: string | null): string =>
  code === null ? `it was killed by ${signal}` : `it ended with exit code ${code}`

const strayed = ({ seed }: Worker, code: number | null, signal: string | null): string =>
  `a worker without a plan, ${seed === undefined ? 'before its first one' : `after seed ${seed}`}: ${howEnded(code, signal)}`

async function ask(worker: Worker, task: Task, { patience, begun }: Required<PoolOptions>): Promise<Answer> {
  const { child } = worker
  const isOver = new AbortController()
  worker.isBusy = true
  try {
    return await new Promise<Answer>((resolve) => {
      let [hasBegun, isSilent] = [false, false]
      const failed = (error: Error): void => resolve(lost(task, `it could not be started (${error.message})`))
      const ended = (code: number | null, signal: string | null): void => {
        if (isSilent) resolve(lost(task, 'it gave no answer for minutes'))
        else resolve(hasBegun || worker.tasks === 0 ? lost(task, howEnded(code, signal)) : 'not begun')
      }
      // What worker.ts sends.
      const heard = (said: unknown): void => {
        if ((said as Said) !== 'begun') return resolve(said as Outcome)
        hasBegun = true
        begun(task)
      }
      child.once('error', failed).once('exit', ended).on('message', heard)
      isOver.signal.addEventListener('abort', () => child.off('error', failed).off('exit', ended).off('message', heard))
      const lose = (): void => {
        isSilent = true
        child.kill('SIGKILL')
      }
      patience(isOver.signal).then(lose, () => undefined)
      // Where it cannot be sent the worker ends, or has ended, and that is what is told.
      child.send(task, () => undefined)
    })
  } finally {
    isOver.abort()
    worker.isBusy = false
  }
}

/** What is known of a plan whose worker is gone: nothing but that. */
const lost = ({ plan }: Task, how: string): Outcome => ({
  plan,
  broken: { invariant: WORKER_LIVES, message: `${WORKER_LIVES}: ${how}`, stack: '' },
  trace: '',
  steps: 0,
  virtualMs: 0,
  cpuMs: 0,
  faults: {},
  edges: {},
  statuses: {},
  events: 0,
  points: [],
  recent: [],
  diary: [],
})
