(** The engine: iteration over a weak topological order.  docs/theory.md, "Loops"; absint/engine/iteration.py.

    [visited] lets a head take any state whenever its cycle goes round: a join, a widening, a smaller state, a guess.
    The check at the head is all that soundness needs. [engine] is a function with joins, widening, descending passes
      and
    a limit of visits: it does what [visited] allows, and ends where chains of widenings are bounded. *)

From Coq Require Import List Arith Lia.
Import ListNotations.

Set Implicit Arguments.

Section Engine.
  Variables node state : Type.
  Variable leq : state -> state -> Prop.
  Hypothesis leq_refl : forall a, leq a a.
  Variable node_eq : forall n m : node, {n = m} + {n <> m}.
  Definition states := node -> state.
  Variable transfer : node -> states -> state.

  (** The nodes whose states a transfer may look at. *)
  Variable reads : node -> list (node).
  Definition looks_at_reads :=
    forall n s s', (forall m, In m (reads n) -> s m = s' m) -> transfer n s = transfer n s'.

  Definition set (s : states) n a : states := fun m => if node_eq m n then a else s m.

  Lemma set_same s n a : set s n a n = a.
  Proof. unfold set. destruct (node_eq n n); congruence. Qed.

  Lemma set_other s n a m : m <> n -> set s n a m = s m.
  Proof. unfold set. destruct (node_eq m n); congruence. Qed.

  Inductive order :=
  | End
  | Visit (n : node) (rest : order)
  | Cycle (head : node) (body rest : order).

  Fixpoint nodes (o : order) : list (node) :=
    match o with
    | End => []
    | Visit n rest => n :: nodes rest
    | Cycle head body rest => head :: nodes body ++ nodes rest
    end.

  (** Each node occurs once and reads nodes before it; the head of a cycle may read those of its cycle too. *)
  Fixpoint weak_topological (before : list (node)) (o : order) : Prop :=
    match o with
    | End => True
    | Visit n rest => ~ In n before /\ incl (reads n) before /\ weak_topological (n :: before) rest
    | Cycle head body rest =>
        ~ In head before /\ incl (reads head) (head :: nodes body ++ before) /\
        weak_topological (head :: before) body /\ weak_topological (head :: nodes body ++ before) rest
    end.

  Inductive visited : order -> states -> states -> Prop :=
  | visited_end s : visited End s s
  | visited_node n rest s s' :
      visited rest (set s n (transfer n s)) s' -> visited (Visit n rest) s s'
  | visited_cycle head body rest s first s' s'' :
      iterated head body (set s head first) s' -> visited rest s' s'' -> visited (Cycle head body rest) s s''
  with iterated : node -> order -> states -> states -> Prop :=
  | leaves head body s s' :
      visited body s s' -> leq (transfer head s') (s' head) -> iterated head body s s'
  | goes_round head body s s' next s'' :
      visited body s s' -> iterated head body (set s' head next) s'' -> iterated head body s s''.

  Scheme visited_induction := Minimality for visited Sort Prop
    with iterated_induction := Minimality for iterated Sort Prop.
  Combined Scheme iteration_induction from visited_induction, iterated_induction.

  Lemma only_visited_nodes_change :
    (forall o s s', visited o s s' -> forall m, ~ In m (nodes o) -> s' m = s m) /\
    (forall head body s s', iterated head body s s' -> forall m, ~ In m (head :: nodes body) -> s' m = s m).
  Proof.
    apply iteration_induction; simpl; intros; auto.
    - rewrite H0 by tauto. apply set_other. intuition.
    - rewrite H2, H0; rewrite ?in_app_iff in *; simpl; try tauto. apply set_other. intuition.
    - rewrite H2 by tauto. rewrite set_other by intuition. apply H0. tauto.
  Qed.

  Ltac members := simpl in *; repeat (rewrite in_app_iff in *; simpl in *); tauto.

  Lemma order_is_respected o before m :
    weak_topological before o -> In m (nodes o) -> ~ In m before /\ incl (reads m) (nodes o ++ before).
  Proof.
    revert before. induction o as [| n rest IH | head body IHbody rest IHrest]; intros before ordered inside.
    - contradiction.
    - destruct ordered as (new & within & ordered), inside as [<- | inside].
      + split; auto. intros x read%within. members.
      + destruct (IH _ ordered inside) as [new_m reads_m]. split; [members |].
        intros x read%reads_m. members.
    - destruct ordered as (new & within & in_body & in_rest).
      simpl in inside. rewrite in_app_iff in inside. destruct inside as [<- | [inside | inside]].
      + split; auto. intros x read%within. members.
      + destruct (IHbody _ in_body inside) as [new_m reads_m]. split; [members |]. intros x read%reads_m. members.
      + destruct (IHrest _ in_rest inside) as [new_m reads_m]. split; [members |]. intros x read%reads_m. members.
  Qed.

  Hypothesis local : looks_at_reads.

  Definition stable_at s n := leq (transfer n s) (s n).

  (** A node stays stable while neither it nor what it reads is visited. *)
  Lemma stays_stable s s' rest known n :
    visited rest s s' -> weak_topological known rest -> In n known -> incl (reads n) known ->
    stable_at s n -> stable_at s' n.
  Proof.
    intros visits ordered inside within stable.
    assert (same : forall m, In m known -> s' m = s m).
    { intros m before. apply (proj1 only_visited_nodes_change) with rest; auto.
      intro later. now apply (order_is_respected _ _ _ ordered) in later. }
    unfold stable_at. rewrite same by assumption. rewrite local with (s' := s); auto.
  Qed.

  Lemma iteration_is_stable :
    (forall o s s', visited o s s' ->
      forall before, weak_topological before o -> forall n, In n (nodes o) -> stable_at s' n) /\
    (forall head body s s', iterated head body s s' ->
      forall before, weak_topological (head :: before) body ->
      forall n, In n (head :: nodes body) -> stable_at s' n).
  Proof.
    apply iteration_induction; simpl.
    - contradiction.
    - intros n rest s s' visits IH before (new & within & ordered) m [<- | inside]; eauto.
      apply (stays_stable visits ordered); simpl; auto using incl_tl.
      unfold stable_at. rewrite set_same, local with (s' := s); auto using leq_refl.
      intros x read. apply set_other. intros ->. auto.
    - intros head body rest s first s' s'' _ IH visits IHrest before (new & within & in_body & in_rest) m inside.
      assert (cycle : In m (head :: nodes body) \/ In m (nodes rest)) by members.
      destruct cycle as [cycle | later]; eauto.
      apply (stays_stable visits in_rest); eauto; [members |].
      destruct cycle as [<- | cycle]; auto. intros x read. apply (order_is_respected _ _ _ in_body cycle) in read.
      members.
    - intros head body s s' _ IH stable before ordered n [<- | inside]; eauto.
    - eauto.
  Qed.

  (** The post-fixpoint, which the theorem of Soundness.v asks for: what the table gives is below what is stored. *)
  Definition post_fixpoint s := forall n, stable_at s n.

  Theorem engine_ends_in_a_post_fixpoint o s s' :
    weak_topological [] o -> (forall n, In n (nodes o)) -> visited o s s' -> post_fixpoint s'.
  Proof. intros ordered all visits n. eapply (proj1 iteration_is_stable); eauto. Qed.

  (** A limit may end the iteration after any part of the order; of other nodes nothing is said. *)
  Theorem limited_engine_ends_in_a_post_fixpoint o s s' top :
    weak_topological [] o -> visited o s s' -> (forall a, leq a top) ->
    post_fixpoint (fun n => if in_dec node_eq n (nodes o) then s' n else top).
  Proof.
    intros ordered is_visited above n. unfold stable_at. destruct (in_dec node_eq n (nodes o)) as [inside |]; auto.
    rewrite local with (s' := s'); [eapply (proj1 iteration_is_stable); eauto |].
    intros m read. apply (order_is_respected _ _ _ ordered inside) in read. rewrite app_nil_r in read.
    destruct (in_dec node_eq m (nodes o)); tauto.
  Qed.

  (** The function. [merge] is given the old state, the new one, and whether to widen. *)
  Variable below : forall a b : state, {leq a b} + {~ leq a b}.
  Variable merge : state -> state -> bool -> state.

  Section Function.
    Variables joins descents limit : nat.

    (** Each turn leaves the cycle, descends, or ascends; a limit of turns ends in failure. *)
    Fixpoint turns (body : states -> option (states)) head limit joins descents s :=
      match limit, body s with
      | S limit, Some s' =>
          let old := s' head in
          let new := transfer head s' in
          if below new old then
            match descents with
            | S descents => if below old new then Some s' else turns body head limit joins descents (set s' head new)
            | 0 => Some s'
            end
          else
            match joins with
            | S joins => turns body head limit joins descents (set s' head (merge old new false))
            | 0 => turns body head limit 0 descents (set s' head (merge old new true))
            end
      | _, _ => None
      end.

    Fixpoint engine (o : order) (s : states) : option (states) :=
      match o with
      | End => Some s
      | Visit n rest => engine rest (set s n (transfer n s))
      | Cycle head body rest =>
          match turns (engine body) head limit joins descents (set s head (transfer head s)) with
          | Some s' => engine rest s'
          | None => None
          end
      end.
  End Function.

  Lemma turns_iterate body act :
    (forall s s', act s = Some s' -> visited body s s') ->
    forall limit joins descents head s s',
    turns act head limit joins descents s = Some s' -> iterated head body s s'.
  Proof.
    intro acts. induction limit as [| limit IH]; simpl; [discriminate |]. intros joins descents head s s'.
    destruct (act s) as [s1 |] eqn:once; [apply acts in once | discriminate].
    destruct (below (transfer head s1) (s1 head)).
    - destruct descents; [| destruct (below (s1 head) (transfer head s1))]; intro result;
        try (injection result as <-; apply leaves); eauto using goes_round.
    - destruct joins; intro result; eauto using goes_round.
  Qed.

  Theorem engine_visits joins descents limit o s s' :
    engine joins descents limit o s = Some s' -> visited o s s'.
  Proof.
    revert s s'. induction o as [| n rest IH | head body IHbody rest IHrest]; simpl; intros s s' result.
    - injection result as <-. constructor.
    - constructor. auto.
    - destruct (turns _ _ _ _ _ _) as [s1 |] eqn:cycle; [| discriminate].
      apply visited_cycle with (transfer head s) s1; auto. eapply turns_iterate; eauto.
  Qed.

  (** Termination, where a chain of widenings has at most [longest] steps. *)
  Variable height : state -> nat.
  Variable longest : nat.
  Hypothesis bounded : forall a, height a <= longest.
  Hypothesis widening_descends : forall old new, ~ leq new old -> height (merge old new true) < height old.

  Lemma turns_end act head :
    (forall s, act s <> None) -> (forall s s', act s = Some s' -> s' head = s head) ->
    forall limit joins descents s,
    (joins + descents) * S longest + height (s head) < limit -> turns act head limit joins descents s <> None.
  Proof.
    intros ends keeps. induction limit as [| limit IH]; simpl; [lia |]. intros joins descents s enough.
    destruct (act s) as [s1 |] eqn:once; [| now apply ends in once].
    rewrite (keeps _ _ once).
    pose proof (bounded (transfer head s1)). pose proof (bounded (merge (s head) (transfer head s1) false)).
    destruct (below (transfer head s1) (s head)) as [| above].
    - destruct descents as [| descents]; [| destruct (below (s head) (transfer head s1))]; try discriminate.
      apply IH. rewrite set_same. lia.
    - destruct joins as [| joins]; apply IH; rewrite set_same; [apply widening_descends in above |]; lia.
  Qed.

  Theorem engine_ends joins descents limit before o s :
    weak_topological before o -> (joins + descents) * S longest + longest < limit ->
    engine joins descents limit o s <> None.
  Proof.
    intros ordered enough. revert before ordered s.
    induction o as [| n rest IH | head body IHbody rest IHrest]; simpl; [discriminate | |].
    - intros before (_ & _ & ordered) s. eauto.
    - intros before (_ & _ & in_body & in_rest) s.
      destruct (turns _ _ _ _ _ _) as [s1 |] eqn:cycle; [eauto |].
      apply turns_end in cycle; [contradiction | eauto | |].
      + intros s1 s2 visits%engine_visits. apply (proj1 only_visited_nodes_change) with body; auto.
        intro inside. apply (order_is_respected _ _ _ in_body) in inside. simpl in inside. tauto.
      + pose proof (bounded (set s head (transfer head s) head)). lia.
  Qed.

  (** The worklist strategy: whoever reads a node that changed is listed, and a node that is not above its transfer. *)
  Inductive works : list (node) -> states -> states -> Prop :=
  | works_done s : works [] s s
  | works_quiet n listed s s' :
      leq (transfer n s) (s n) -> works listed s s' -> works (n :: listed) s s'
  | works_change n next listed listed' s s' :
      incl listed listed' -> (forall m, In n (reads m) -> In m listed') ->
      leq (transfer n s) next \/ In n listed' ->
      works listed' (set s n next) s' -> works (n :: listed) s s'.

  Theorem worklist_ends_in_a_post_fixpoint listed s s' :
    (forall n, In n listed) -> works listed s s' -> post_fixpoint s'.
  Proof.
    intros all is_done.
    assert (start : forall n, In n listed \/ stable_at s n) by auto. clear all. revert start.
    induction is_done as [s | n listed s s' quiet _ IH | n next listed listed' s s' kept readers checked _ IH].
    - intros start n. now destruct (start n).
    - intro start. apply IH. intro m. destruct (start m) as [[<- | inside] | stable]; auto.
    - intro start. apply IH. intro m. destruct (in_dec node_eq n (reads m)) as [read |]; auto.
      unfold stable_at. destruct (node_eq m n) as [-> | other].
      + destruct checked as [above | again]; auto. right. rewrite set_same, local with (s' := s); auto.
        intros x read. apply set_other. congruence.
      + destruct (start m) as [[<- | inside] | stable]; auto; [congruence |].
        right. rewrite set_other, local with (s' := s); auto. intros x read. apply set_other. congruence.
  Qed.
End Engine.
