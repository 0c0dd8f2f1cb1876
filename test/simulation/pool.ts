import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Outcome } from './run-plan.ts'
import type { Task } from './worker.ts'

const file = fileURLToPath(new URL('worker.ts', import.meta.url))
/** Dead processes of a run leave promises behind that wait for ever: a worker is renewed before that is much. */
const TASKS_A_WORKER = 40
/** What a plan breaks whose worker ended under it: out of memory, killed, or by an error of its own. */
const WORKER_LIVES = 'its worker lives'

export const isWorkerLost = ({ broken }: Outcome): boolean => broken?.invariant === WORKER_LIVES

/** Runs tasks in so many processes beside each other, and hands out what became of them as it comes. */
export type Pool = {
  /** A task whose worker ends is a failure of its plan, with how the worker ended; another worker takes its place. */
  run(task: Task): Promise<Outcome>
  readonly pids: () => readonly number[]
  close(): void
}

export function openPool(size: number): Pool {
  const idle: Worker[] = []
  const waiting: ((worker: Worker) => void)[] = []
  const all = new Set<Worker>()
  const add = (): Worker => {
    const worker = {
      child: fork(file, {
        execArgv: ['--no-warnings'],
        serialization: 'advanced',
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
      tasks: 0,
    }
    all.add(worker)
    return worker
  }
  const renewed = (worker: Worker): Worker => {
    all.delete(worker)
    worker.child.kill()
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
      const given = idle.shift() ?? (await new Promise<Worker>((resolve) => waiting.push(resolve)))
      // One may have ended while it had nothing to do.
      const worker = hasEnded(given) ? renewed(given) : given
      const outcome = await ask(worker.child, task)
      give(hasEnded(worker) || ++worker.tasks >= TASKS_A_WORKER ? renewed(worker) : worker)
      return outcome
    },
    pids: () => [...all].flatMap(({ child }) => child.pid ?? []),
    close() {
      for (const { child } of all) child.kill()
    },
  }
}

type Worker = { readonly child: ChildProcess; tasks: number }

const hasEnded = ({ child }: Worker): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null

function ask(child: ChildProcess, task: Task): Promise<Outcome> {
  return new Promise((resolve) => {
    const failed = (error: Error): void => resolve(lost(task, `it could not be started (${error.message})`))
    const ended = (code: number | null, signal: string | null): void => {
      child.off('message', answered)
      resolve(lost(task, code === null ? `it was killed by ${signal}` : `it ended with exit code ${code}`))
    }
    const answered = (outcome: unknown): void => {
      child.off('error', failed)
      child.off('exit', ended)
      resolve(outcome as Outcome) // what worker.ts sends
    }
    child.once('error', failed)
    child.once('exit', ended)
    child.once('message', answered)
    // Where it cannot be sent the worker ends, or has ended, and that is what is told.
    child.send(task, () => undefined)
  })
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
