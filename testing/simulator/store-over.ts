/**
 * The whole store as one process reaches it.
 *
 * Owns: sending every method through the three points of `requests.ts`.
 * Does not own: what the store does, the failures on the way.
 * Invariant: nothing reaches the store but through `ask`, so every write may be lost, late, or outlive its sender.
 */
import type { OfferStore, Store } from "../../services/ports.ts";
import { leaseOver, type Ask } from "./requests.ts";

type AskStore = <Answer>(what: string, perform: () => Promise<Answer>) => Promise<Answer>;

const cleanupsOver = (ask: AskStore, cleanups: Store["cleanups"]): Store["cleanups"] => ({
  view: () => ask("cleanups.view", () => cleanups.view()),
  intend: (r) => ask(`cleanups.intend ${r.seat}`, () => cleanups.intend(r)),
  begin: (r) => ask(`cleanups.begin ${r.target.threadId}`, () => cleanups.begin(r)),
  postpone: (r) => ask(`cleanups.postpone ${r.target.threadId}`, () => cleanups.postpone(r)),
  confirm: (r) => ask(`cleanups.confirm ${r.target.threadId}`, () => cleanups.confirm(r)),
  cancel: (r) => ask(`cleanups.cancel ${r.target.threadId}`, () => cleanups.cancel(r)),
  unbind: (r) => ask(`cleanups.unbind ${r.target.threadId}`, () => cleanups.unbind(r)),
  observe: (r) => ask(`cleanups.observe ${r.evidence.target.threadId}`, () => cleanups.observe(r)),
  doubt: (r) => ask(`cleanups.doubt ${r.seat}`, () => cleanups.doubt(r)),
  ask: (r) => ask(`cleanups.ask ${r.id}`, () => cleanups.ask(r)),
  answer: (r) => ask(`cleanups.answer ${r.answer.id}`, () => cleanups.answer(r)),
  answerTo: (id) => ask(`cleanups.answerTo ${id}`, () => cleanups.answerTo(id)),
});

const offersOver = (ask: AskStore, offers: OfferStore): OfferStore => ({
  offer: (r) => ask(`offers.offer ${r.recipientSeat}`, () => offers.offer(r)),
  offersTo: (r) => ask("offers.offersTo", () => offers.offersTo(r)),
  accept: (r) => ask(`offers.accept ${r.id}`, () => offers.accept(r)),
  cancel: (r) => ask(`offers.cancel ${r.id}`, () => offers.cancel(r)),
  standing: (r) => ask("offers.standing", () => offers.standing(r)),
  giveBack: (r) => ask("offers.giveBack", () => offers.giveBack(r)),
  withdraw: (r) => ask(`offers.withdraw ${r.seq}`, () => offers.withdraw(r)),
  wish: (r) => ask(`offers.wish ${r.seq}`, () => offers.wish(r)),
  takeWishes: (r) => ask("offers.takeWishes", () => offers.takeWishes(r)),
  sitterOn: (r) => ask("offers.sitterOn", () => offers.sitterOn(r)),
  list: (limit) => ask("offers.list", () => offers.list(limit)),
});

const journalOver = (ask: AskStore, journal: Store["journal"]): Store["journal"] => ({
  cursor: () => ask("journal.cursor", () => journal.cursor()),
  admit: (r) => ask(`journal.admit ${r.updates.length}`, () => journal.admit(r)),
  heads: (r) => ask("journal.heads", () => journal.heads(r)),
  drop: (r) => ask(`journal.drop ${r.seq}`, () => journal.drop(r)),
  redirect: (r) => ask("journal.redirect", () => journal.redirect(r)),
  deadLetter: (r) => ask(`journal.deadLetter ${r.seq}`, () => journal.deadLetter(r)),
});

const pairingOver = (ask: AskStore, pairing: Store["pairing"]): Store["pairing"] => ({
  read: () => ask("pairing.read", () => pairing.read()),
  ask: (r) => ask(`pairing.ask ${r.asker.userId}`, () => pairing.ask(r)),
  approve: (r) => ask("pairing.approve", () => pairing.approve(r)),
  reject: (r) => ask("pairing.reject", () => pairing.reject(r)),
  revoke: () => ask("pairing.revoke", () => pairing.revoke()),
});

export function storeOver(request: Ask, inner: Store): Store {
  const ask: AskStore = (what, perform) => request({ what, canOutlive: true, perform });
  const { seats, registrations, threads, cleanups, journal, work, queue, offers, deadLetters, ownership, status } =
    inner;
  return {
    lease: leaseOver(request, inner.lease),
    seats: {
      profileId: () => ask("seats.profileId", () => seats.profileId()),
      claimsOf: (owner) => ask("seats.claimsOf", () => seats.claimsOf(owner)),
      holderOf: (seat) => ask("seats.holderOf", () => seats.holderOf(seat)),
      claim: (claim) => ask(`seats.claim ${claim.seat}`, () => seats.claim(claim)),
      release: (claim) => ask(`seats.release ${claim.seat}`, () => seats.release(claim)),
      disown: (claim) => ask(`seats.disown ${claim.seat}`, () => seats.disown(claim)),
    },
    registrations: {
      commit: (r) => ask(`registrations.commit ${r.registration.seat}`, () => registrations.commit(r)),
      end: (r) => ask(`registrations.end ${r.seat}`, () => registrations.end(r)),
    },
    threads: {
      view: () => ask("threads.view", () => threads.view()),
      bindingOf: (r) => ask(`threads.bindingOf ${r.seat}`, () => threads.bindingOf(r)),
      seatOf: (r) => ask(`threads.seatOf ${r.threadId}`, () => threads.seatOf(r)),
      noteCreated: (r) => ask(`threads.noteCreated ${r.target.threadId}`, () => threads.noteCreated(r)),
      mark: (r) => ask(`threads.mark ${r.target.threadId} ${r.standing}`, () => threads.mark(r)),
      lose: (r) => ask(`threads.lose ${r.target.threadId}`, () => threads.lose(r)),
      addLeftover: (r) => ask(`threads.addLeftover ${r.leftover.target.threadId}`, () => threads.addLeftover(r)),
      intend: (r) => ask(`threads.intend ${r.provision.seat}`, () => threads.intend(r)),
      bind: (r) => ask(`threads.bind ${r.binding.seat}`, () => threads.bind(r)),
      giveUp: (r) => ask(`threads.giveUp ${r.as}`, () => threads.giveUp(r)),
    },
    chats: {
      moves: () => ask("chats.moves", () => inner.chats.moves()),
      move: (r) => ask(`chats.move ${r.from}`, () => inner.chats.move(r)),
    },
    cleanups: cleanupsOver(ask, cleanups),
    journal: journalOver(ask, journal),
    work: {
      claim: (r) => ask(`work.claim ${r.updateId}`, () => work.claim(r)),
      adopt: (r) => ask(`work.adopt ${r.lane}`, () => work.adopt(r)),
      settle: (r) => ask(`work.settle ${r.seq}`, () => work.settle(r)),
      fail: (r) => ask(`work.fail ${r.seq}`, () => work.fail(r)),
    },
    queue: {
      settleAll: (r) => ask(`queue.settleAll ${r.entries.length}`, () => queue.settleAll(r)),
      sweep: (r) => ask(`queue.sweep ${r.seq}`, () => queue.sweep(r)),
    },
    offers: offersOver(ask, offers),
    deadLetters: {
      list: (limit) => ask("deadLetters.list", () => deadLetters.list(limit)),
      retry: (r) => ask(`deadLetters.retry ${r.seq}`, () => deadLetters.retry(r)),
      discard: (r) => ask(`deadLetters.discard ${r.seq}`, () => deadLetters.discard(r)),
    },
    pairing: pairingOver(ask, inner.pairing),
    ownership: {
      record: (entries) => ask("ownership.record", () => ownership.record(entries)),
      ownerOf: (chat, message) => ask("ownership.ownerOf", () => ownership.ownerOf(chat, message)),
    },
    status: {
      count: (reason, by, nowMs) => ask(`status.count ${reason}`, () => status.count(reason, by, nowMs)),
      notePolling: (r) => ask("status.notePolling", () => status.notePolling(r)),
      presentHealth: () => ask("status.presentHealth", () => status.presentHealth()),
      read: () => ask("status.read", () => status.read()),
    },
    close: () => Promise.resolve(),
  };
}
