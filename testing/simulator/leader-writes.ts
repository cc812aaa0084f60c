/**
 * Every write that only a leader may make, watched from within the store.
 *
 * Owns: noting what epoch was presented and what was current, for each of them. The lease's own writes are watched by
 * `ghost.ts`.
 * Does not own: judging it (`machines/invariants.ts`, `lease/noWriteUnderOldEpoch`).
 * Invariant: the current epoch is read in the step in which the write is carried out, so nothing comes between.
 */
import type { MemoryDatabase } from "../../adapters/store/memory/index.ts";
import type { Epoch } from "../../machines/ids.ts";
import type { Store } from "../../services/ports.ts";

export interface LeaderWriteWatch {
  readonly database: MemoryDatabase;
  readonly note: (presented: Epoch, current: Epoch, accepted: boolean) => void;
}

export function watchLeaderWrites(inner: Store, { database, note }: LeaderWriteWatch): Store {
  const watched =
    <Request extends { readonly epoch: Epoch }, Answer extends { readonly kind: string }>(
      write: (request: Request) => Promise<Answer>,
    ) =>
    async (request: Request): Promise<Answer> => {
      const current = database.lease.epoch;
      const answer = await write(request);
      note(request.epoch, current, answer.kind !== "fenced");
      return answer;
    };
  const { journal, registrations, threads, cleanups } = inner;
  return {
    ...inner,
    journal: {
      ...journal,
      admit: watched((r) => journal.admit(r)),
      drop: watched((r) => journal.drop(r)),
      redirect: watched((r) => journal.redirect(r)),
      deadLetter: watched((r) => journal.deadLetter(r)),
    },
    registrations: {
      commit: watched((r) => registrations.commit(r)),
      end: watched((r) => registrations.end(r)),
    },
    threads: {
      ...threads,
      intend: watched((r) => threads.intend(r)),
      bind: watched((r) => threads.bind(r)),
      giveUp: watched((r) => threads.giveUp(r)),
      mark: watched((r) => threads.mark(r)),
      lose: watched((r) => threads.lose(r)),
      addLeftover: watched((r) => threads.addLeftover(r)),
    },
    cleanups: {
      ...cleanups,
      intend: watched((r) => cleanups.intend(r)),
      begin: watched((r) => cleanups.begin(r)),
      postpone: watched((r) => cleanups.postpone(r)),
      confirm: watched((r) => cleanups.confirm(r)),
      cancel: watched((r) => cleanups.cancel(r)),
      unbind: watched((r) => cleanups.unbind(r)),
      observe: watched((r) => cleanups.observe(r)),
      doubt: watched((r) => cleanups.doubt(r)),
      answer: watched((r) => cleanups.answer(r)),
    },
  };
}
