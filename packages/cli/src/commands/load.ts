import { randomInt } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { LoadContext } from '../load/load-access.ts'
import {
  ARRIVAL_PATTERNS,
  createCountParser,
  parseOrderMix,
  parseNodeUri,
  parseRate,
  parseSellerMix,
  type LoadSettings,
  parseTimeSpan,
} from '../load/settings.ts'
import { addCommand } from '../command-context.ts'

type LoadOptions = Omit<
  LoadSettings,
  | 'ratePerSecond'
  | 'privatePercent'
  | 'seed'
  | 'durationMs'
  | 'drainMs'
  | 'timeoutMs'
  | 'pollMs'
  | 'sellers'
  | 'to'
  | 'allowUnfinished'
  | 'allowShed'
> & {
  readonly to?: LoadSettings['to']
  readonly url?: string
  readonly rate: number
  readonly private: number
  readonly seed?: number
  readonly duration: number
  readonly drain: number
  readonly timeout: number
  readonly poll: number
  readonly sellers?: LoadSettings['sellers']
  readonly allowUnfinished?: boolean
  readonly allowShed?: boolean
  readonly curve?: boolean
  readonly out?: string
  readonly iOwnThis?: boolean
  readonly json?: boolean
}

const DEFAULT_MIX = 'buy:70,lsps1:20,manual:5,abandon:5'

export function addLoadCommand(program: Command, context: LoadContext): void {
  const description = 'load a market with orders at a fixed rate, time every step, and check the results'
  const example = 'load --orders 300 --rate 5 --mix buy:80,lsps1:20 --sellers good:90,fails:10 --out report.html'
  const command = addCommand(program, 'load', description, example)
  addWorkloadOptions(command)
  addLimitOptions(command)
  command.action(async (options: LoadOptions) => {
    // Other commands start faster, because they do not load this code.
    if (options.curve === true) {
      const [{ runCurveCommand }, { toCurveSettings }] = await Promise.all([
        import('../load/curve/curve-command.ts'),
        import('../load/curve/curve-settings.ts'),
      ])
      const isGiven = (option: string): boolean => command.getOptionValueSource(option) === 'cli'
      return runCurveCommand({ ...options, settings: toCurveSettings(toSettings(options), isGiven) }, context)
    }
    const { runLoadCommand } = await import('../load/run-command.ts')
    await runLoadCommand({ ...options, settings: toSettings(options) }, context)
  })
}

function addWorkloadOptions(command: Command): void {
  command
    .option('--url <address>', 'the address of the market (default: PENSTOCK_URL)')
    .option('--orders <n>', 'number of orders', createCountParser('orders', 1, 1_000_000), 100)
    .option('--rate <n>', 'orders that start per second, regardless of earlier orders', parseRate, 2)
    .addOption(
      new Option('--mix <shares>', 'kinds of orders, each with its percentage')
        .argParser(parseOrderMix)
        .default(parseOrderMix(DEFAULT_MIX), DEFAULT_MIX),
    )
    .option('--sellers <shares>', 'behaviours of the simulated sellers, as good:80,slow:10,fails:10', parseSellerMix)
    .addOption(
      new Option('--arrivals <how>', 'evenly spaced, or random and independent').choices(ARRIVAL_PATTERNS).default('poisson'),
    )
    .option('--private <percent>', 'percentage of orders for a private channel', createCountParser('percent', 0, 100), 0)
    .option('--seed <n>', 'random seed; equal seeds give equal orders and times', createCountParser('anything', 0, 2 ** 32 - 1))
    .option(
      '--to <uri>',
      'a node that receives the channels (may be repeated; default: the buyers of the simulation)',
      parseNodeUri,
    )
    .option(
      '--curve',
      'find the capacity from --rate on, then load the market at 0.5, 1, 2 and 4 times of it, for --duration each (default: 30s); fail on a lost paid order',
    )
    .option('--out <file>', 'write the report to this file, as one self-contained page')
}

function addLimitOptions(command: Command): void {
  const addTimeOption = (flags: string, description: string, fallback: string): void =>
    void command.addOption(new Option(flags, description).argParser(parseTimeSpan).default(parseTimeSpan(fallback), fallback))
  addTimeOption('--duration <time>', 'time after which no order starts', '30m')
  addTimeOption('--drain <time>', 'maximum wait for unfinished orders after the last order started, and then for payouts', '3m')
  addTimeOption('--timeout <time>', 'timeout of each request, and of its wait for a connection', '15s')
  addTimeOption('--poll <time>', 'interval at which a buyer polls its order', '1s')
  command
    .option(
      '--max-in-flight <n>',
      'maximum number of orders in flight; more due orders are shed',
      createCountParser('orders', 1, 100_000),
      500,
    )
    .option('--allow-errors <n>', 'number of errors that do not fail the run', createCountParser('errors', 0, 1_000_000), 0)
    .option('--allow-unfinished', 'do not fail on paid orders that are unfinished at the drain limit')
    .option('--allow-shed', 'do not fail on due orders and polls that were shed or held back')
    .option('--i-own-this', 'allow a market that is not on the loopback of this machine')
}

function toSettings(options: LoadOptions): LoadSettings {
  const { orders, mix: orderMix, arrivals: arrivalPattern, maxInFlight, allowErrors } = options
  return {
    orders,
    ratePerSecond: options.rate,
    privatePercent: options.private,
    mix: orderMix,
    sellers: options.sellers ?? null,
    arrivals: arrivalPattern,
    seed: options.seed ?? randomInt(2 ** 32),
    to: options.to ?? [],
    durationMs: options.duration,
    drainMs: options.drain,
    timeoutMs: options.timeout,
    pollMs: options.poll,
    maxInFlight,
    allowErrors,
    allowUnfinished: options.allowUnfinished ?? false,
    allowShed: options.allowShed ?? false,
  }
}
