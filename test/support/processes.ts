import { type ChildProcess, spawn, type SpawnOptions, spawnSync, type SpawnSyncOptions } from 'node:child_process'

/** The result of a program. `code` is null if a signal ended the program, or if the program could not be started. */
export type ProgramResult = {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  /** Standard error. It ends with the reason if the program could not be started. */
  readonly stderr: string
}

export type StartedProgram = {
  readonly child: ChildProcess
  /** Returns the output so far, with standard output and standard error interleaved as they arrived. */
  readonly output: () => string
  /** Resolves when the program has ended and its output is complete. */
  readonly ended: Promise<ProgramResult>
}

/** Starts a program, and collects its output. */
export function startProgram(program: string, args: readonly string[], options: SpawnOptions = {}): StartedProgram {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  const text = { stdout: '', stderr: '', all: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (part: string) => {
      text[name] += part
      text.all += part
    })
  const ended = new Promise<ProgramResult>((resolve) => {
    const end = (code: number | null, signal: string | null): void =>
      resolve({ code, signal, stdout: text.stdout, stderr: text.stderr })
    child.once('error', ({ message }) => {
      text.stderr += message
      if (child.pid === undefined) end(null, null)
    })
    child.once('close', end)
  })
  return { child, output: () => text.all, ended }
}

type RunOptions = SpawnOptions & { readonly input?: string }

/** Runs a program until it ends. `input` is written to its standard input. */
export function runProgram(
  program: string,
  args: readonly string[],
  { input, ...options }: RunOptions = {},
): Promise<ProgramResult> {
  const { child, ended } = startProgram(program, args, {
    ...options,
    ...(input !== undefined && { stdio: ['pipe', 'pipe', 'pipe'] }),
  })
  child.stdin?.on('error', () => undefined).end(input) // The program may end without reading all input.
  return ended
}

/** Does the same as `runProgram`. @throws Error with the program's output if it does not exit with 0 */
export const runSuccessfully = async (program: string, args: readonly string[], options?: RunOptions): Promise<ProgramResult> =>
  assertSuccess(`${program} ${args.join(' ')}`, await runProgram(program, args, options))

/** Does the same as `runProgram`, synchronously. */
export function runProgramSync(program: string, args: readonly string[], options: SpawnSyncOptions = {}): ProgramResult {
  const settings = { maxBuffer: 64 << 20, ...options, encoding: 'utf8' } as const
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, settings)
  // Output that is not piped is null, although Node's types do not say so.
  const [out, err] = [stdout, stderr].map((text: string | null) => text ?? '')
  return { code: status, signal, stdout: out ?? '', stderr: `${err ?? ''}${error?.message ?? ''}` }
}

/** Does the same as `runProgramSync`. @throws Error with the program's output if it does not exit with 0 */
export const runSuccessfullySync = (program: string, args: readonly string[], options?: SpawnSyncOptions): ProgramResult =>
  assertSuccess(`${program} ${args.join(' ')}`, runProgramSync(program, args, options))

function assertSuccess(command: string, result: ProgramResult): ProgramResult {
  const { code, signal, stdout, stderr } = result
  if (code !== 0) throw new Error(`${command} ended with ${code ?? signal}: ${stderr}${stdout}`.trim())
  return result
}
