import { installKafka, kafkaMissing } from '@penstock/servers/kafka-install.ts'
import { installLightning, lightningMissing } from '@penstock/servers/lightning-install.ts'
import { provideChromium } from '../../tools/chromium.ts'
import { type ProgramName, programNames } from '../../tools/programs.ts'
import { providePromtool } from '../../tools/promtool.ts'
import { installTlc, tlcMissing } from '../../tools/tlc.ts'
import { composePrograms, composeRecipe } from '../deploy/programs/compose.ts'
import { goMissing } from '../deploy/programs/go.ts'
import { kubernetesPrograms, kubernetesRecipe } from '../deploy/programs/kubernetes.ts'

/** `node install-program.ts <name>`: ends with 0 where the program is there then, or cannot be had on this machine. */
type Way = { readonly missing: () => Promise<string | undefined>; readonly install: () => Promise<unknown> }

const ways: Readonly<Record<ProgramName, Way>> = {
  chromium: { missing: async () => undefined, install: async () => provideChromium() },
  promtool: {
    missing: async () => {
      const had = providePromtool()
      return 'missing' in had ? had.missing : undefined
    },
    install: async () => {},
  },
  tlc: { missing: async () => tlcMissing(), install: async () => installTlc() },
  kafka: { missing: kafkaMissing, install: installKafka },
  compose: { missing: async () => goMissing(await composeRecipe()), install: composePrograms },
  kubernetes: { missing: async () => goMissing(await kubernetesRecipe()), install: kubernetesPrograms },
  lightning: { missing: lightningMissing, install: installLightning },
}

const name = programNames.find((known) => known === process.argv[2])
if (name === undefined) {
  console.error(`Name a program: ${programNames.join(', ')}.`)
  process.exitCode = 2
} else {
  const { missing, install } = ways[name]
  const reason = await missing()
  if (reason === undefined) await install()
  else console.log(reason)
}
